import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Connector, CreateConnector, UpdateConnector } from "../Schemas/Connector.ts"
import type { ConnectorId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, listQuery, pathId, removed } from "./Fields.ts"

export const Connectors = HttpApiGroup.make("connectors")
  .add(
    HttpApiEndpoint.post("create", "/api/connectors", {
      payload: CreateConnector,
      success: created(Connector)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a connector",
        description:
          "At least one of `type` and `providerId`. `metadata` is at most 16 KiB; its `credential` is sealed " +
          "and never returned. The free plan allows 5 active connectors (`plan_limit_exceeded`)."
      })
    ),
    HttpApiEndpoint.get("list", "/api/connectors", {
      query: listQuery,
      success: data(Schema.Array(Connector))
    }).annotateMerge(OpenApi.annotations({ summary: "List the connectors of a workspace, oldest first" })),
    HttpApiEndpoint.get("get", "/api/connectors/:id", {
      params: { id: pathId<ConnectorId>() },
      success: data(Connector),
      error: NotFound
    }).annotateMerge(OpenApi.annotations({ summary: "Read a connector", ...extension })),
    HttpApiEndpoint.patch("update", "/api/connectors/:id", {
      params: { id: pathId<ConnectorId>() },
      payload: UpdateConnector,
      success: data(Connector),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({ summary: "Update a connector, or switch it on or off", ...extension })
    ),
    HttpApiEndpoint.delete("remove", "/api/connectors/:id", {
      params: { id: pathId<ConnectorId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(OpenApi.annotations({ summary: "Delete a connector with its credential", ...extension }))
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Connectors",
      description: "Integrations with outside providers, which bring tools."
    })
  )
