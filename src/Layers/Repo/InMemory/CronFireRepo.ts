import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { StoredCronJob } from "../../../Schemas/CronJob.ts"
import { isTerminal } from "../../../Schemas/Run.ts"
import { CronFireRepo } from "../../../Services/CronFireRepo.ts"
import { now } from "../../../Services/CurrentTime.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  CronFireRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { agents, cronBacklogs, cronFires, cronJobs, runs } = tables

    const awaited = () =>
      Array.from(cronJobs.values())
        .flatMap((job) => (job.nextFireAt === null ? [] : [{ ...job, slot: job.nextFireAt }]))
        .sort((a, b) => a.slot.getTime() - b.slot.getTime() || (a.id < b.id ? -1 : 1))

    const isBusy = (job: Pick<StoredCronJob, "id">) =>
      Array.from(runs.values()).some((run) => run.cronJobId === job.id && !isTerminal(run.status))

    return guard(
      CronFireRepo.of({
        now,
        untilDue: Effect.map(Clock.currentTimeMillis, (at) =>
          Option.map(Option.fromNullishOr(awaited()[0]), ({ slot }) => slot.getTime() - at)
        ),
        claim: (limit) =>
          Effect.map(now, (at) => ({
            at,
            jobs: awaited()
              .filter(({ slot }) => slot <= at)
              .slice(0, limit)
              .map((job) => ({
                id: job.id,
                workspaceId: job.workspaceId,
                projectId: job.projectId,
                agentId: job.agentId,
                prompt: job.prompt,
                schedule: job.schedule,
                timezone: job.timezone,
                slot: job.slot,
                isBusy: isBusy(job),
                agentIsActive: job.agentId === null || agents.get(job.agentId)?.isActive === true
              }))
          })),
        record: ({ backlogs, firedAt, next, slots }) =>
          Effect.sync(() => {
            const made = slots.flatMap(({ cronJobId, outcome, run, scheduledAt }) => {
              const key = keyOf(cronJobId, scheduledAt)
              if (cronFires.has(key)) return []
              cronFires.set(key, { cronJobId, scheduledAt, firedAt, outcome, runId: run?.id ?? null })
              if (run === null) return []
              runs.set(run.id, run)
              return [run.id]
            })
            for (const backlog of backlogs) {
              const key = keyOf(backlog.cronJobId, backlog.until)
              if (!cronBacklogs.has(key)) cronBacklogs.set(key, backlog)
            }
            for (const { cronJobId, nextFireAt } of next) {
              const job = cronJobs.get(cronJobId)
              if (job !== undefined) cronJobs.set(cronJobId, { ...job, nextFireAt })
            }
            return made
          }),
        claimBacklog: (keepMillis) =>
          Effect.map(now, (at) =>
            Option.map(Option.fromNullishOr(cronBacklogs.values().next().value), (backlog) => {
              const oldest = Math.floor((at.getTime() - keepMillis) / 1000) * 1000
              const from = new Date(Math.max(backlog.from.getTime(), oldest))
              return { at, backlog: { ...backlog, from } }
            })
          ),
        recordMissed: ({ cronJobId, until }, { at, rest, slots }) =>
          Effect.sync(() => {
            for (const scheduledAt of slots) {
              const key = keyOf(cronJobId, scheduledAt)
              if (cronFires.has(key)) continue
              cronFires.set(key, { cronJobId, scheduledAt, firedAt: at, outcome: "missed", runId: null })
            }
            const key = keyOf(cronJobId, until)
            if (rest === null) cronBacklogs.delete(key)
            else if (cronBacklogs.has(key)) cronBacklogs.set(key, rest)
          }),
        list: ({ cronJobId, limit, offset }) =>
          Effect.sync(() =>
            Array.from(cronFires.values())
              .filter((fire) => fire.cronJobId === cronJobId)
              .sort((a, b) => b.scheduledAt.getTime() - a.scheduledAt.getTime())
              .slice(offset, offset + limit)
              .map(({ cronJobId: _, ...fire }) => fire)
          ),
        forget: (keepMillis, limit) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const old = Array.from(cronFires)
              .filter(([, { scheduledAt }]) => scheduledAt.getTime() < at - keepMillis)
              .sort(([, a], [, b]) => a.scheduledAt.getTime() - b.scheduledAt.getTime())
              .slice(0, limit)
            for (const [key] of old) cronFires.delete(key)
            return old.length
          })
      })
    )
  })
)

const keyOf = (cronJobId: string, at: Date) => `${cronJobId} ${at.toISOString()}`
