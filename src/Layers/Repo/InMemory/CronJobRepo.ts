import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type StoredCronJob, toCronJob } from "../../../Schemas/CronJob.ts"
import { CronJobRepo } from "../../../Services/CronJobRepo.ts"
import { unlessGone } from "./Named.ts"
import { setPolicyIn } from "./Policies.ts"
import { unlessFullIn } from "./Quotas.ts"
import * as Slices from "./Slices.ts"
import { forgetBackfill, Store } from "./Store.ts"

export const layer = Layer.effect(
  CronJobRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { agents, cronBacklogs, cronFires, cronJobs, runs } = tables
    const withAgent = (job: Omit<StoredCronJob, "agent">): StoredCronJob => {
      const agent = job.agentId === null ? undefined : agents.get(job.agentId)
      return { ...job, agent: agent ? { id: agent.id, name: agent.name } : null }
    }
    const find = (id: string) =>
      Effect.sync(() => Option.map(Option.fromNullishOr(cronJobs.get(id)), withAgent))
    return guard(
      CronJobRepo.of({
        insert: (job, most) =>
          Effect.flatten(
            unlessGone(tables, { ...job, member: makerOf(job) }, () =>
              unlessFullIn(tables, "cronJobs", job.workspaceId, most, () => {
                cronJobs.set(job.id, job)
                return withAgent(job)
              })
            )
          ),
        find,
        lock: find,
        ...Slices.makePages(cronJobs, (job) => toCronJob(withAgent(job))),
        update: (id, patch, at) =>
          unlessGone(tables, cronJobs.has(id) ? patch : {}, () => {
            const job = cronJobs.get(id)
            if (job === undefined) return Option.none<StoredCronJob>()
            const updated = { ...job, ...patch, updatedAt: at }
            cronJobs.set(id, updated)
            return Option.some(withAgent(updated))
          }),
        setPolicy: setPolicyIn(cronJobs),
        stopOf: ({ userId, workspaceId }, stopReason, at) =>
          Effect.sync(() => {
            for (const job of cronJobs.values()) {
              if (job.createdBy !== userId) continue
              if (workspaceId !== null && job.workspaceId !== workspaceId) continue
              forgetBackfill(tables, job.id)
              if (!job.isActive) continue
              const stopped = { isActive: false, nextFireAt: null, stoppedAt: at, stopReason, updatedAt: at }
              cronJobs.set(job.id, { ...job, ...stopped })
            }
          }),
        remove: (id) =>
          Effect.sync(() => {
            forgetBackfill(tables, id)
            for (const table of [cronFires, cronBacklogs] as ReadonlyArray<
              Map<string, { readonly cronJobId: string }>
            >) {
              for (const [key, row] of table) if (row.cronJobId === id) table.delete(key)
            }
            for (const [key, run] of runs)
              if (run.cronJobId === id) runs.set(key, { ...run, cronJobId: null })
            return cronJobs.delete(id)
          })
      })
    )
  })
)

const makerOf = ({ createdBy, workspaceId }: Pick<StoredCronJob, "createdBy" | "workspaceId">) =>
  createdBy === null ? null : { workspaceId, userId: createdBy }
