import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Layer from "effect/Layer"
import { Api } from "../Api/Api.ts"
import * as Agents from "./Http/Agents.ts"
import * as Approvals from "./Http/Approvals.ts"
import * as Audit from "./Http/Audit.ts"
import * as Boundary from "./Http/Boundary.ts"
import * as Chat from "./Http/Chat.ts"
import * as Connectors from "./Http/Connectors.ts"
import * as Console from "./Http/Console.ts"
import * as CronJobs from "./Http/CronJobs.ts"
import * as Home from "./Http/Home.ts"
import * as Idempotency from "./Http/Idempotency.ts"
import * as Mcp from "./Http/Mcp.ts"
import * as Memory from "./Http/Memory.ts"
import * as MetricsPage from "./Http/MetricsPage.ts"
import * as OpenAi from "./Http/OpenAi.ts"
import * as Pages from "./Http/Pages.ts"
import * as Projects from "./Http/Projects.ts"
import * as ProviderKeys from "./Http/ProviderKeys.ts"
import * as Runs from "./Http/Runs.ts"
import * as Session from "./Http/Session.ts"
import * as System from "./Http/System.ts"
import * as Tasks from "./Http/Tasks.ts"
import * as Tokens from "./Http/Tokens.ts"
import * as UiStream from "./Http/UiStream.ts"
import * as Usage from "./Http/Usage.ts"
import * as Validation from "./Http/Validation.ts"
import * as Waiting from "./Http/Waiting.ts"
import * as Webhooks from "./Http/Webhooks.ts"
import * as Workspaces from "./Http/Workspaces.ts"

export const layerHandlers = Layer.mergeAll(
  Agents.layer,
  Approvals.layer,
  Audit.layer,
  Chat.layer,
  Connectors.layer,
  CronJobs.layer,
  Memory.layer,
  OpenAi.layer,
  Projects.layer,
  ProviderKeys.layer,
  Runs.layer,
  Session.layer,
  System.layer,
  Tasks.layer,
  Tokens.layer,
  UiStream.layer,
  Usage.layer,
  Webhooks.layer,
  Workspaces.layer
)

/** The page asks no other host for anything, and first of all for the token. */
const reference: HttpApiScalar.ScalarConfig = {
  withDefaultFonts: false,
  authentication: { preferredSecurityScheme: "bearer" }
}

/** Every route of the service; who is let in is still to be said. */
export const layer = Layer.mergeAll(
  HttpApiBuilder.layer(Api),
  Layer.provide(
    Layer.merge(
      HttpRouter.add("GET", "/openapi.json", HttpServerResponse.jsonUnsafe(OpenApi.fromApi(Api))),
      HttpApiScalar.layer(Api, { path: "/docs", scalar: reference })
    ),
    Pages.layer
  ),
  Mcp.layer,
  MetricsPage.layer,
  Console.layer,
  Home.layer,
  Boundary.layer
).pipe(Layer.provide(layerHandlers), Layer.provide([Idempotency.layer, Validation.layer, Waiting.layer]))
