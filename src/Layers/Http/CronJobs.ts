import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Api } from "../../Api/Api.ts"
import { CronJobs } from "../../Services/CronJobs.ts"
import { data } from "./Data.ts"

const layerCronJobs = HttpApiBuilder.group(
  Api,
  "cronJobs",
  Effect.fn(function* (handlers) {
    const cronJobs = yield* CronJobs
    return handlers.handleAll({
      create: ({ payload }) => data((user) => cronJobs.create(user, payload)),
      list: ({ query }) => data((user) => cronJobs.list(user, query)),
      update: ({ params, payload }) => data((user) => cronJobs.update(user, params.id, payload))
    })
  })
)

const layerExtension = HttpApiBuilder.group(
  Api,
  "cronJobsExtension",
  Effect.fn(function* (handlers) {
    const cronJobs = yield* CronJobs
    return handlers.handleAll({
      preview: ({ payload }) => data(() => cronJobs.preview(payload))
    })
  })
)

export const layer = Layer.merge(layerCronJobs, layerExtension)
