import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import type { TokenId } from "../Schemas/Ids.ts"
import { CreateToken, NewToken, TokenView } from "../Schemas/Token.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, pathId, removed } from "./Fields.ts"
import { Idempotency, Keeping } from "./Idempotency.ts"

export const Tokens = HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", "/api/tokens", { success: data(Schema.Array(TokenView)) }).annotateMerge(
      OpenApi.annotations({
        summary: "List the caller's tokens that still work",
        description: "By name and age, browser sessions among them; their secrets are not kept."
      })
    ),
    HttpApiEndpoint.post("create", "/api/tokens", {
      payload: CreateToken,
      success: created(NewToken)
    })
      .middleware(Idempotency)
      .annotate(Keeping, "sealed")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a token, which is shown this once",
          description:
            "`expiresInDays` is 1 to 3650; without it the token works until it is revoked. It ends with the token or " +
            "session of the request at the latest, as `expiresAt` says, and is revoked with that. Only a hash of it is " +
            "stored."
        })
      ),
    HttpApiEndpoint.delete("remove", "/api/tokens/:id", {
      params: { id: pathId<TokenId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Revoke a token of the caller",
        description:
          "It works no more, at once, on every node, nor does what it made: tokens, sessions, and what these made."
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Tokens", description: "Bearer tokens of the caller." }))
