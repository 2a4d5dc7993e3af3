import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Connector, CreateConnector, UpdateConnector } from "../Schemas/Connector.ts"
import { ConnectorHealth, ConnectorTools } from "../Schemas/ConnectorHealth.ts"
import { ConnectorId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound, RateLimited } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, listQuery, pathId, removed } from "./Fields.ts"
import { Idempotency, Keeping } from "./Idempotency.ts"
import { listed, pageOf } from "./Paging.ts"

const page = pageOf(ConnectorId)

export const Connectors = HttpApiGroup.make("connectors")
  .add(
    HttpApiEndpoint.post("create", "/api/connectors", {
      payload: CreateConnector,
      success: created(Connector)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a connector",
          description:
            "At least one of `type` and `providerId`. `metadata` is at most 16 KiB and never returned; its " +
            "`credential`, its `headers` and what else looks like a secret in it are sealed. The free plan allows 5 active connectors (`plan_limit_exceeded`)."
        })
      ),
    HttpApiEndpoint.get("list", "/api/connectors", {
      query: { ...listQuery, ...page.query },
      success: listed(Connector)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the connectors of a workspace, oldest first",
        description: `\`status\` is \`ACTIVE\`, \`ERROR\` (it could not be reached or signed in to at its last use) or \`INACTIVE\`. No credential is ever shown. ${page.description}`,
        transform: page.transform
      })
    ),
    HttpApiEndpoint.get("get", "/api/connectors/:id", {
      params: { id: pathId<ConnectorId>() },
      success: data(Connector),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a connector",
        description: "Without its metadata: `hasCredential` says whether a secret is in it.",
        ...extension
      })
    ),
    HttpApiEndpoint.patch("update", "/api/connectors/:id", {
      params: { id: pathId<ConnectorId>() },
      payload: UpdateConnector,
      success: data(Connector),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update a connector, or switch it on or off",
        description:
          "An absent field stays. `metadata` replaces all of it, secrets included. Switching it on counts to the plan's limit.",
        ...extension
      })
    ),
    HttpApiEndpoint.get("tools", "/api/connectors/:id/tools", {
      params: { id: pathId<ConnectorId>() },
      success: data(ConnectorTools),
      error: [NotFound, RateLimited]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the tools of a connector, with its health",
        description:
          "As its server lists them now, or did within a minute. `name` is what a model knows a tool by, `originalName` " +
          "what its server does. None while `error` says why it can't be used, and of a connector that leads to no MCP server.",
        ...extension
      })
    ),
    HttpApiEndpoint.get("health", "/api/connectors/:id/health", {
      params: { id: pathId<ConnectorId>() },
      success: data(ConnectorHealth),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read what the last use of a connector has shown",
        description:
          "In a run, a chat or a check, of any node. `error` says why it can't be used; of the server stays what it was " +
          "when it last worked. All null before the first use, after a change of `metadata`, and of one that brings no tools.",
        ...extension
      })
    ),
    HttpApiEndpoint.post("check", "/api/connectors/:id/check", {
      params: { id: pathId<ConnectorId>() },
      success: data(ConnectorHealth),
      error: [NotFound, RateLimited]
    })
      .middleware(Idempotency)
      .annotate(Keeping, "behind")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Connect to the server of a connector now",
          description:
            "Answers with its health after that, within about 10 s. One in `ERROR` that works is `ACTIVE` again if the plan " +
            "has room; one that is `INACTIVE` stays so. Who asks while it is checked gets the same answer; more than 12 checks in a minute are a 429.",
          ...extension
        })
      ),
    HttpApiEndpoint.delete("remove", "/api/connectors/:id", {
      params: { id: pathId<ConnectorId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a connector with its credential",
        description: "A run that waits for one of its tools can't go on, and fails.",
        ...extension
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Connectors",
      description: "Integrations with outside providers, which bring tools."
    })
  )
