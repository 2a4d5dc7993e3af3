import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { AuditLog } from "../../Services/AuditLog.ts"
import { data } from "./Data.ts"
import { setNextAfter } from "./NextAfter.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "audit",
  Effect.fn(function* (handlers) {
    const log = yield* AuditLog
    return handlers.handleAll({
      list: ({ query }) =>
        data(
          Effect.fnUntraced(function* (user) {
            const { entries, next } = yield* log.list(user, query)
            yield* setNextAfter(next)
            return entries
          })
        )
    })
  })
)
