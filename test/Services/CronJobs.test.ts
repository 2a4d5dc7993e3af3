import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import type { UpdateCronJob } from "../../src/Schemas/CronJob.ts"
import { Forbidden, InvalidInput, NotFound } from "../../src/Schemas/Errors.ts"
import type { AgentId, CronJobId, ProjectId } from "../../src/Schemas/Ids.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { CronJobs } from "../../src/Services/CronJobs.ts"
import { makeAgent, makeProject } from "../support/Fixtures.ts"
import { listedFor } from "../support/Listed.ts"
import { layerAtRest, makeTenant } from "../support/Service.ts"

const setTime = (iso: string) => TestClock.setTime(Date.parse(iso))

const nextOf = (id: CronJobId) =>
  Effect.flatMap(CronJobRepo, (repo) =>
    Effect.map(repo.find(id), (job) => Option.getOrThrow(job).nextFireAt?.toISOString() ?? null)
  )

/** A job that is due at 09:00 in Berlin, made on a Friday at 08:00:00.123 UTC, and moved on by a minute. */
const makeJob = Effect.gen(function* () {
  yield* setTime("2026-11-20T08:00:00.123Z")
  const jobs = yield* CronJobs
  const { user, workspaceId } = yield* makeTenant()
  const agent = yield* makeAgent(workspaceId)
  const job = yield* jobs.create(user, {
    workspaceId,
    name: "Job",
    schedule: "0 9 * * *",
    timezone: "Europe/Berlin",
    prompt: "Do it",
    agentId: agent.id
  })
  assert.strictEqual(yield* nextOf(job.id), "2026-11-21T08:00:00.000Z")
  return { agent, job, jobs, user, workspaceId }
})

describe("CronJobs", () => {
  it.effect("creates a job that is on, with the next instant after now, which callers do not see", () =>
    Effect.gen(function* () {
      const { agent, job, jobs, user, workspaceId } = yield* makeJob
      const at = new Date("2026-11-20T08:00:00.123Z")
      assert.deepStrictEqual(job, {
        id: job.id,
        workspaceId,
        projectId: null,
        name: "Job",
        description: null,
        schedule: "0 9 * * *",
        prompt: "Do it",
        timezone: "Europe/Berlin",
        isActive: true,
        agentId: agent.id,
        agent: { id: agent.id, name: agent.name },
        createdAt: at,
        updatedAt: at
      })
      assert.deepStrictEqual(yield* listedFor(jobs, user, { workspaceId }), [job])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("reads the schedule in UTC where no time zone is named", () =>
    Effect.gen(function* () {
      const { jobs, user, workspaceId } = yield* makeJob
      const given = { workspaceId, name: "n", schedule: "0 9 * * *", prompt: "p" }
      const { id, timezone } = yield* jobs.create(user, given)
      assert.strictEqual(timezone, "UTC")
      assert.strictEqual(yield* nextOf(id), "2026-11-20T09:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  const moments: ReadonlyArray<[UpdateCronJob, string | null]> = [
    [{ schedule: "0 12 * * *" }, "2026-11-23T11:00:00.000Z"],
    [{ timezone: "UTC" }, "2026-11-23T09:00:00.000Z"],
    [{ schedule: "*/10 * * * * *", timezone: "UTC" }, "2026-11-23T08:30:10.000Z"],
    [{ isActive: false }, null],
    [{ isActive: false, schedule: "* * * * *" }, null],
    // The slot of the 21st was not handled yet: what does not change the times must not skip it.
    [{}, "2026-11-21T08:00:00.000Z"],
    [{ name: "New", description: "New", prompt: "New" }, "2026-11-21T08:00:00.000Z"],
    [{ agentId: null }, "2026-11-21T08:00:00.000Z"],
    [{ schedule: "0 9 * * *", timezone: "Europe/Berlin", isActive: true }, "2026-11-21T08:00:00.000Z"]
  ]
  it.effect.each(moments)("counts from now when %j changes the times, and only then", ([patch, expected]) =>
    Effect.gen(function* () {
      const { job, jobs, user } = yield* makeJob
      yield* setTime("2026-11-23T08:30:00.000Z")
      const updated = yield* jobs.update(user, job.id, patch)
      assert.strictEqual(yield* nextOf(job.id), expected)
      const agent = patch.agentId === null ? { agent: null } : {}
      const updatedAt = new Date("2026-11-23T08:30:00.000Z")
      assert.deepStrictEqual(updated, { ...job, ...patch, ...agent, updatedAt })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is never due while it is off, and counts from now when it is switched on", () =>
    Effect.gen(function* () {
      const { job, jobs, user } = yield* makeJob
      yield* jobs.update(user, job.id, { isActive: false })
      yield* jobs.update(user, job.id, { timezone: "UTC" })
      assert.isNull(yield* nextOf(job.id))
      yield* jobs.update(user, job.id, { name: "New" })
      assert.isNull(yield* nextOf(job.id))
      yield* setTime("2026-12-01T09:00:00.000Z")
      yield* jobs.update(user, job.id, { isActive: true })
      assert.strictEqual(yield* nextOf(job.id), "2026-12-02T09:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect.each<[UpdateCronJob, string]>([
    [{ schedule: "0 0 30 2 *" }, "schedule: never fires"],
    [{ schedule: "61 * * * *" }, "schedule: is not a valid cron expression: Invalid value for minute: 61"],
    [{ timezone: "Mars/Base" }, "timezone: must be the name of an IANA time zone"],
    [{ isActive: false, timezone: "" }, "timezone: must be the name of an IANA time zone"],
    [{ agentId: "agent_absent" as AgentId }, "agentId: does not exist in this workspace"]
  ])("refuses %j, in a new job and in a patch, and changes nothing", ([patch, sentence]) =>
    Effect.gen(function* () {
      const { job, jobs, user, workspaceId } = yield* makeJob
      const { isActive: _, ...given } = patch
      const error = yield* Effect.flip(
        jobs.create(user, { workspaceId, name: "n", schedule: "* * * * *", prompt: "p", ...given })
      )
      assert.deepStrictEqual([error instanceof InvalidInput, error.error], [true, sentence])
      const refused = yield* Effect.flip(jobs.update(user, job.id, { name: "New", ...patch }))
      assert.deepStrictEqual([refused instanceof InvalidInput, refused.error], [true, sentence])
      assert.deepStrictEqual(yield* listedFor(jobs, user, { workspaceId }), [job])
      assert.strictEqual(yield* nextOf(job.id), "2026-11-21T08:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect(
    "renames and switches off a job whose time zone is known no more, but does not switch it on",
    () =>
      Effect.gen(function* () {
        const { job, jobs, user } = yield* makeJob
        yield* (yield* CronJobRepo).update(job.id, { timezone: "Mars/Base" }, new Date())
        assert.strictEqual((yield* jobs.update(user, job.id, { name: "New" })).name, "New")
        assert.strictEqual(yield* nextOf(job.id), "2026-11-21T08:00:00.000Z")
        assert.isFalse((yield* jobs.update(user, job.id, { isActive: false })).isActive)
        assert.isNull(yield* nextOf(job.id))
        const refused = yield* Effect.flip(jobs.update(user, job.id, { isActive: true }))
        assert.strictEqual(refused.error, "timezone: must be the name of an IANA time zone")
        yield* jobs.update(user, job.id, { isActive: true, timezone: "UTC" })
        assert.strictEqual(yield* nextOf(job.id), "2026-11-20T09:00:00.000Z")
      }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("takes no agent or project of another workspace", () =>
    Effect.gen(function* () {
      const { job, jobs, user, workspaceId } = yield* makeJob
      const elsewhere = yield* makeTenant()
      const agentId = (yield* makeAgent(elsewhere.workspaceId)).id
      const projectId = (yield* makeProject(elsewhere.workspaceId)).id
      const given = { workspaceId, name: "n", schedule: "* * * * *", prompt: "p" }
      for (const error of [
        yield* Effect.flip(jobs.create(user, { ...given, agentId })),
        yield* Effect.flip(jobs.create(user, { ...given, projectId })),
        yield* Effect.flip(jobs.update(user, job.id, { agentId })),
        yield* Effect.flip(listedFor(jobs, user, { workspaceId, projectId })),
        yield* Effect.flip(listedFor(jobs, user, { workspaceId, projectId: "proj_absent" as ProjectId }))
      ]) {
        assert.match(error.error, /^(agentId|projectId): does not exist in this workspace$/u)
      }
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("shows a stranger nothing", () =>
    Effect.gen(function* () {
      const { job, jobs, workspaceId } = yield* makeJob
      const { user: stranger } = yield* makeTenant()
      const given = { workspaceId, name: "n", schedule: "* * * * *", prompt: "p" }
      assert.instanceOf(yield* Effect.flip(jobs.create(stranger, given)), Forbidden)
      assert.instanceOf(yield* Effect.flip(listedFor(jobs, stranger, { workspaceId })), Forbidden)
      const foreign = yield* Effect.flip(jobs.update(stranger, job.id, { isActive: false }))
      const absent = yield* Effect.flip(jobs.update(stranger, "cron_absent" as CronJobId, {}))
      assert.instanceOf(foreign, NotFound)
      assert.deepStrictEqual([foreign.error, foreign._tag], [absent.error, absent._tag])
      assert.strictEqual(yield* nextOf(job.id), "2026-11-21T08:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("previews as many as asked for, and lets others work meanwhile", () =>
    Effect.gen(function* () {
      const jobs = yield* CronJobs
      let turns = 0
      yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => turns++),
            Effect.yieldNow
          )
        )
      )
      const after = new Date("2026-11-20T08:00:00.000Z")
      const rare = yield* jobs.preview({ schedule: "0 0 29 2 +MON", after, count: 100 })
      assert.strictEqual(rare.length, 100)
      assert.strictEqual(rare.at(-1)?.toISOString(), "4692-02-29T00:00:00.000Z")
      assert.isAtLeast(turns, 3)
      const last = { schedule: "@yearly", after: new Date("9979-06-01T00:00:00.000Z"), count: 100 }
      assert.strictEqual((yield* jobs.preview(last)).length, 20)
      assert.strictEqual((yield* jobs.preview({ schedule: "* * * * *", after, count: 25 })).length, 25)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("previews five instants in UTC from now, or as it is told", () =>
    Effect.gen(function* () {
      yield* setTime("2026-11-20T08:00:00.000Z")
      const jobs = yield* CronJobs
      const hours = (from: number, count: number) =>
        Array.from({ length: count }, (_, index) => new Date(Date.UTC(2026, 10, 20, from + index)))
      assert.deepStrictEqual(yield* jobs.preview({ schedule: "0 * * * *" }), hours(9, 5))
      const after = new Date("2026-11-20T12:00:00.000Z")
      assert.deepStrictEqual(yield* jobs.preview({ schedule: "0 * * * *", after, count: 2 }), hours(13, 2))
      const [first] = yield* jobs.preview({ schedule: "@daily", timezone: "Asia/Tokyo", count: 1 })
      assert.deepStrictEqual(first, new Date("2026-11-20T15:00:00.000Z"))
      assert.instanceOf(yield* Effect.flip(jobs.preview({ schedule: "@reboot" })), InvalidInput)
      const early = { schedule: "@daily", after: new Date("0001-06-01T00:00:00.000Z"), count: 1 }
      assert.deepStrictEqual(yield* jobs.preview(early), [new Date("0001-06-02T00:00:00.000Z")])
      const tooEarly = yield* Effect.flip(
        jobs.preview({ ...early, after: new Date("0000-06-01T00:00:00.000Z") })
      )
      assert.strictEqual(tooEarly.error, "schedule: never fires")
    }).pipe(Effect.provide(layerAtRest()))
  )
})
