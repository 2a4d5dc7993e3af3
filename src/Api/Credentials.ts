import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import type { ProviderKeyId, TokenId } from "../Schemas/Ids.ts"
import { UserId } from "../Schemas/Ids.ts"
import { CreateProviderKey, ProviderKey } from "../Schemas/ProviderKey.ts"
import { Timestamp } from "../Schemas/Timestamp.ts"
import { CreateToken, NewToken, TokenView } from "../Schemas/Token.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { created, data, pathId, removed, workspaceQuery } from "./Fields.ts"

const Session = Schema.Struct({ userId: UserId, email: Schema.String, expiresAt: Timestamp }).annotate({
  identifier: "Session"
})

/** CONTRACT.md section 8: beyond the specification. */
export const Credentials = HttpApiGroup.make("credentials")
  .add(
    HttpApiEndpoint.get("providerKeys", "/api/provider-keys", {
      query: workspaceQuery,
      success: data(Schema.Array(ProviderKey))
    }).annotateMerge(OpenApi.annotations({ summary: "List the provider keys of a workspace, oldest first" })),
    HttpApiEndpoint.post("createProviderKey", "/api/provider-keys", {
      payload: CreateProviderKey,
      success: created(ProviderKey)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Store a provider key",
        description: "`apiKey` is sealed and never returned. `openai-compatible` needs a `baseUrl`."
      })
    ),
    HttpApiEndpoint.delete("removeProviderKey", "/api/provider-keys/:id", {
      params: { id: pathId<ProviderKeyId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({ summary: "Delete a provider key; agents that named it have none" })
    ),
    HttpApiEndpoint.get("tokens", "/api/tokens", { success: data(Schema.Array(TokenView)) }).annotateMerge(
      OpenApi.annotations({ summary: "List the caller's tokens that still work" })
    ),
    HttpApiEndpoint.post("createToken", "/api/tokens", {
      payload: CreateToken,
      success: created(NewToken)
    }).annotateMerge(OpenApi.annotations({ summary: "Create a token, which is shown this once" })),
    HttpApiEndpoint.delete("removeToken", "/api/tokens/:id", {
      params: { id: pathId<TokenId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke a token of the caller" })),
    HttpApiEndpoint.post("startSession", "/api/session", { success: created(Session) }).annotateMerge(
      OpenApi.annotations({
        summary: "Exchange a bearer token for the session cookie",
        description: "HttpOnly, SameSite=Lax, Secure over https; good for 30 days."
      })
    ),
    HttpApiEndpoint.delete("endSession", "/api/session", { success: removed }).annotateMerge(
      OpenApi.annotations({ summary: "End the session of the cookie" })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "extension",
      description: "Beyond the specification, by the same conventions."
    })
  )
