import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { CronJob } from "../../Schemas/CronJob.ts"
import { CronJobs } from "../../Services/CronJobs.ts"
import { Policies } from "../../Services/Policies.ts"
import { Runs } from "../../Services/Runs.ts"
import { data, removal } from "./Data.ts"
import { listing } from "./Listing.ts"

const list = listing(CronJob)

export const layer = HttpApiBuilder.group(
  Api,
  "cronJobs",
  Effect.fn(function* (handlers) {
    const cronJobs = yield* CronJobs
    const policies = yield* Policies
    const runs = yield* Runs
    return handlers.handleAll({
      create: ({ payload }) => data((user) => cronJobs.create(user, payload)),
      list: ({ query }) => list((user) => cronJobs.list(user, query)),
      update: ({ params, payload }) => data((user) => cronJobs.update(user, params.id, payload)),
      preview: ({ payload }) => data(() => cronJobs.preview(payload)),
      get: ({ params }) => data((user) => cronJobs.get(user, params.id)),
      remove: ({ params }) => removal((user) => cronJobs.remove(user, params.id)),
      fires: ({ params, query }) => data((user) => cronJobs.fires(user, params.id, query)),
      policy: ({ params }) => data((user) => policies.ofJob(user, params.id)),
      setPolicy: ({ params, payload }) => data((user) => policies.setOfJob(user, params.id, payload)),
      backfill: ({ params, payload }) => data((user) => cronJobs.backfill(user, params.id, payload)),
      backfillState: ({ params }) => data((user) => cronJobs.backfillState(user, params.id)),
      cancelBackfill: ({ params }) => removal((user) => cronJobs.cancelBackfill(user, params.id)),
      maker: ({ params }) => data((user) => cronJobs.maker(user, params.id)),
      takeOver: ({ params }) => data((user) => cronJobs.takeOver(user, params.id)),
      run: ({ params }) => data((user) => runs.createOfJob(user, params.id))
    })
  })
)
