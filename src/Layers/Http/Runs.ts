import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Run } from "../../Schemas/Run.ts"
import { Runs } from "../../Services/Runs.ts"
import { Usage } from "../../Services/Usage.ts"
import { data } from "./Data.ts"
import { answer, resumedEventStream } from "./EventStream.ts"
import { makeListing } from "./Listing.ts"

const list = makeListing(Run)

export const layer = HttpApiBuilder.group(
  Api,
  "runs",
  Effect.fn(function* (handlers) {
    const runs = yield* Runs
    const usage = yield* Usage
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const found = yield* runs.list(yield* CurrentUser, query)
        return list(found.runs, ['{"data":[', `],"total":${found.total}}`])
      }),
      get: ({ params }) => data((user) => runs.get(user, params.id)),
      timeline: ({ params }) => data((user) => runs.timeline(user, params.id)),
      usage: ({ params }) => data((user) => usage.ofRun(user, params.id)),
      cancel: ({ params }) => data((user) => runs.cancel(user, params.id)),
      retry: ({ params }) => data((user) => runs.retry(user, params.id)),
      events: ({ headers, params }) => {
        const after = headers["last-event-id"] ?? 0
        return Effect.flatMap(
          Effect.flatMap(CurrentUser, (user) => runs.events(user, params.id, after)),
          Option.match({
            onNone: () => Effect.undefined,
            onSome: (events) => answer((context) => resumedEventStream(events, after, context))
          })
        )
      }
    })
  })
)
