import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { CreateCronJob, CronJob, PreviewSchedule, UpdateCronJob } from "../Schemas/CronJob.ts"
import type { CronJobId } from "../Schemas/Ids.ts"
import { Timestamp } from "../Schemas/Timestamp.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound } from "./Errors.ts"
import { created, data, listQuery, pathId } from "./Fields.ts"

/** Specification, Cron jobs. */
export const CronJobs = HttpApiGroup.make("cronJobs")
  .add(
    HttpApiEndpoint.post("create", "/api/cron-jobs", {
      payload: CreateCronJob,
      success: created(CronJob)
    }).annotateMerge(OpenApi.annotations({ summary: "Schedule an agent" })),
    HttpApiEndpoint.get("list", "/api/cron-jobs", {
      query: listQuery,
      success: data(Schema.Array(CronJob))
    }).annotateMerge(OpenApi.annotations({ summary: "List the cron jobs of a workspace, oldest first" })),
    HttpApiEndpoint.patch("update", "/api/cron-jobs/:id", {
      params: { id: pathId<CronJobId>() },
      payload: UpdateCronJob,
      success: data(CronJob),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update a cron job, or switch it on or off",
        description: "An absent field stays; `null` clears `description` and `agentId`."
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Cron jobs", description: "Tasks that recur on a schedule." }))

/** CONTRACT.md section 8: beyond the specification. */
export const CronJobsExtension = HttpApiGroup.make("cronJobsExtension")
  .add(
    HttpApiEndpoint.post("preview", "/api/cron-jobs/preview", {
      payload: PreviewSchedule,
      success: data(Schema.Array(Timestamp))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show when a schedule fires",
        description: "The next `count` (5) instants after `after` (now), as cron jobs compute them."
      })
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
