import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Tokens } from "../../Services/Tokens.ts"
import { data, removal } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "tokens",
  Effect.fn(function* (handlers) {
    const tokens = yield* Tokens
    return handlers.handleAll({
      list: () => data(tokens.list),
      create: ({ payload }) => data((user) => tokens.create(user, payload)),
      remove: ({ params }) => removal((user) => tokens.remove(user, params.id))
    })
  })
)
