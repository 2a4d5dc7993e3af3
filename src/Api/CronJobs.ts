import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { BackfillCronJob, CronBackfill, CronBackfillState } from "../Schemas/CronBackfill.ts"
import { CronFire } from "../Schemas/CronFire.ts"
import { CreateCronJob, CronJob, CronJobMaker, PreviewSchedule, UpdateCronJob } from "../Schemas/CronJob.ts"
import { CronJobId } from "../Schemas/Ids.ts"
import { Policy, PutPolicy } from "../Schemas/Policy.ts"
import { Run } from "../Schemas/Run.ts"
import { Timestamp } from "../Schemas/Timestamp.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { AgentInactive, NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, listQuery, pathId, removed } from "./Fields.ts"
import { Idempotency, Keeping } from "./Idempotency.ts"
import { listed, pageOf, paging } from "./Paging.ts"
import { policyChanges, policyTells } from "./Policies.ts"

const pages = paging(50)

const page = pageOf(CronJobId)

export const CronJobs = HttpApiGroup.make("cronJobs")
  .add(
    HttpApiEndpoint.post("create", "/api/cron-jobs", {
      payload: CreateCronJob,
      success: created(CronJob)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Schedule an agent",
          description:
            "`schedule` has five fields, six with seconds first, or is one of `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`; it is read in `timezone` (UTC). Each instant makes at most one run. Without an agent the workspace's default answers."
        })
      ),
    HttpApiEndpoint.get("list", "/api/cron-jobs", {
      query: { ...listQuery, ...page.query },
      success: listed(CronJob)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the cron jobs of a workspace, oldest first",
        description: `All of them, also those that are switched off; \`projectId\` narrows the list to a project. ${page.description}`,
        transform: page.transform
      })
    ),
    HttpApiEndpoint.patch("update", "/api/cron-jobs/:id", {
      params: { id: pathId<CronJobId>() },
      payload: UpdateCronJob,
      success: data(CronJob),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update a cron job, or switch it on or off",
        description:
          "An absent field stays; `null` clears `description` and `agentId`. Whoever switches on a job whose maker is no member any more answers for it from then on."
      })
    ),
    HttpApiEndpoint.post("preview", "/api/cron-jobs/preview", {
      payload: PreviewSchedule,
      success: data(Schema.Array(Timestamp))
    })
      .middleware(Idempotency)
      .annotate(Keeping, "behind")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Show when a schedule fires",
          description: "The next `count` (5) instants after `after` (now), as cron jobs compute them.",
          ...extension
        })
      ),
    HttpApiEndpoint.get("get", "/api/cron-jobs/:id", {
      params: { id: pathId<CronJobId>() },
      success: data(CronJob),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a cron job",
        description: "With a reference to its agent, or null. What became of its instants is in its ledger.",
        ...extension
      })
    ),
    HttpApiEndpoint.delete("remove", "/api/cron-jobs/:id", {
      params: { id: pathId<CronJobId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a cron job and its ledger; its runs stay without one",
        description: "A run of it that is under way goes on.",
        ...extension
      })
    ),
    HttpApiEndpoint.get("fires", "/api/cron-jobs/:id/fires", {
      params: { id: pathId<CronJobId>() },
      query: pages.query,
      success: data(Schema.Array(CronFire)),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List what became of the slots of a cron job, newest first",
        description:
          "`outcome`: `fired` made a run, `overlap` found a run of the job still active, `missed` came while nothing could fire it, `agent_inactive` found its agent switched off, `budget_exceeded` found the budget of the month used up, `backfilled` was made up afterwards.",
        transform: pages.transform,
        ...extension
      })
    ),
    HttpApiEndpoint.get("policy", "/api/cron-jobs/:id/policy", {
      params: { id: pathId<CronJobId>() },
      success: data(Policy),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the policy of a cron job",
        description: `Nothing is said by one that was never set. ${policyTells}`,
        ...extension
      })
    ),
    HttpApiEndpoint.put("setPolicy", "/api/cron-jobs/:id/policy", {
      params: { id: pathId<CronJobId>() },
      payload: PutPolicy,
      success: data(Policy),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Replace the policy of a cron job",
        description: `The whole of it: what is absent is unset. ${policyChanges}`,
        ...extension
      })
    ),
    HttpApiEndpoint.post("backfill", "/api/cron-jobs/:id/backfill", {
      params: { id: pathId<CronJobId>() },
      payload: BackfillCronJob,
      success: data(CronBackfill),
      error: [NotFound, AgentInactive]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Make up slots of a cron job",
          description:
            "Of the slots from `from` on and before `to`, 1,000 at most, those that were `missed` get a run, or with `only: all` each instant of the schedule that had none, whatever the reason: one run each at most, whatever is asked again. The oldest begins first, the next when no run of the job is active, also while the job is off. `to` may not be in the future, nor `from` before what the ledger keeps.",
          ...extension
        })
      ),
    HttpApiEndpoint.get("backfillState", "/api/cron-jobs/:id/backfill", {
      params: { id: pathId<CronJobId>() },
      success: data(CronBackfillState),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read how many slots of a cron job wait to be made up",
        description: "The runs that were made for others have `cronJobId` and are in the ledger.",
        ...extension
      })
    ),
    HttpApiEndpoint.delete("cancelBackfill", "/api/cron-jobs/:id/backfill", {
      params: { id: pathId<CronJobId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make up no more slots of a cron job",
        description: "What still waits gets no run; a run that was made goes on.",
        ...extension
      })
    ),
    HttpApiEndpoint.get("maker", "/api/cron-jobs/:id/maker", {
      params: { id: pathId<CronJobId>() },
      success: data(CronJobMaker),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read who answers for a cron job",
        description:
          "Who made it, took it over, or switched it on when nobody answered for it; null: unknown, and nothing stops it. When that user leaves the workspace, is removed, disabled or deleted, the job is switched off: `stoppedAt` and `stopReason` say so until it is switched on.",
        ...extension
      })
    ),
    HttpApiEndpoint.post("takeOver", "/api/cron-jobs/:id/take-over", {
      params: { id: pathId<CronJobId>() },
      success: data(CronJob),
      error: NotFound
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Answer for a cron job from now on, by an owner",
          description:
            "A job that was stopped because of its maker is switched on, counted from now; one that somebody switched off stays off.",
          ...extension
        })
      ),
    HttpApiEndpoint.post("run", "/api/cron-jobs/:id/run", {
      params: { id: pathId<CronJobId>() },
      success: created(Run),
      error: [NotFound, AgentInactive]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Run a cron job now, whatever its schedule",
          description:
            "Also while it is off, and while another run of it is active. It is no slot and not in the ledger.",
          ...extension
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Cron jobs", description: "Tasks that recur on a schedule." }))
