import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Usage } from "../../Services/Usage.ts"
import { data } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "usage",
  Effect.fn(function* (handlers) {
    const usage = yield* Usage
    return handlers.handleAll({
      report: ({ query }) => data((user) => usage.report(user, query))
    })
  })
)
