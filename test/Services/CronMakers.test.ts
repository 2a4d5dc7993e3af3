import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import type { CronJob, StopReason } from "../../src/Schemas/CronJob.ts"
import { Forbidden, NotFound } from "../../src/Schemas/Errors.ts"
import type { User } from "../../src/Schemas/User.ts"
import { Accounts } from "../../src/Services/Accounts.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { CronJobs } from "../../src/Services/CronJobs.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeTeam } from "../support/Team.ts"
import { setTime, start } from "./Schedulers.ts"

/** A team, at 08:00 UTC on a Friday, with jobs that are due every hour. */
const makeJobs = Effect.gen(function* () {
  const team = yield* makeTeam
  yield* setTime("2026-11-20T08:00:00.123Z")
  const jobs = yield* CronJobs
  const repo = yield* CronJobRepo
  const make = (user: User) =>
    jobs.create(user, { workspaceId: team.id, name: "Job", schedule: "0 * * * *", prompt: "Do it" })
  const [mine, other] = [yield* make(team.member), yield* make(team.owner)]
  const remove = team.workspaces.removeMember(team.owner, team.id, team.member.id)
  const nextOf = ({ id }: CronJob) =>
    Effect.map(repo.find(id), (found) =>
      found._tag === "None" ? "none" : (found.value.nextFireAt?.toISOString() ?? null)
    )
  return { ...team, jobs, make, mine, nextOf, other, remove, repo }
})

type Subject = Effect.Success<typeof makeJobs>

const operator = (command: "user delete" | "user disable" | "user enable", { email }: User) =>
  Effect.flatMap(Accounts, (accounts) => accounts.execute({ command, email }))

const createdBy = ({ email, id: userId }: User) => ({ createdBy: { userId, email } })
const running = { isMember: true, stoppedAt: null, stopReason: null }

describe("Who makes a cron job", () => {
  it.effect("answers for it, and is named to members", () =>
    Effect.gen(function* () {
      const { jobs, make, member, mine, owner, repo, stranger } = yield* makeJobs
      for (const user of [owner, member]) {
        assert.deepStrictEqual(yield* jobs.maker(user, mine.id), { ...createdBy(member), ...running })
      }
      const error = yield* Effect.flip(jobs.maker(stranger, mine.id))
      assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "cron job not found"])
      // A job of before.
      const old = yield* make(owner)
      yield* repo.update(old.id, { createdBy: null }, new Date())
      const unknown = { createdBy: null, isMember: false, stoppedAt: null, stopReason: null }
      assert.deepStrictEqual(yield* jobs.maker(member, old.id), unknown)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect.each<
    [string, StopReason, string | null, (subject: Subject) => Effect.Effect<unknown, unknown, Accounts>]
  >([
    ["is removed", "maker_left", "kept", ({ remove }) => remove],
    [
      "leaves",
      "maker_left",
      "kept",
      ({ id, member, workspaces }) => workspaces.removeMember(member, id, member.id)
    ],
    ["is deleted", "maker_left", null, ({ member }) => operator("user delete", member)],
    ["is disabled", "maker_disabled", "kept", ({ member }) => operator("user disable", member)]
  ])("takes along what is on of it when it %s; all else goes on", ([, stopReason, email, leave]) =>
    Effect.gen(function* () {
      const subject = yield* makeJobs
      const { jobs, make, member, mine, nextOf, other, owner } = subject
      const off = yield* make(member)
      yield* jobs.update(owner, off.id, { isActive: false })
      yield* start
      yield* setTime("2026-11-20T09:00:00.000Z")
      const runsOf = ({ id: cronJobId, workspaceId }: CronJob) =>
        Effect.flatMap(RunRepo, (runs) => runs.list({ workspaceId, cronJobId, limit: 9, offset: 0 }))
      const { runs } = yield* runsOf(mine)
      yield* setTime("2026-11-20T09:30:00.000Z")
      yield* leave(subject)

      const stoppedAt = new Date("2026-11-20T09:30:00.000Z")
      assert.deepStrictEqual(yield* jobs.get(owner, mine.id), {
        ...mine,
        isActive: false,
        updatedAt: stoppedAt
      })
      assert.deepStrictEqual(yield* jobs.maker(owner, mine.id), {
        createdBy: { userId: member.id, email: email === null ? null : member.email },
        isMember: false,
        stoppedAt,
        stopReason
      })
      const { stopReason: none } = yield* jobs.maker(owner, off.id)
      assert.isNull(none)
      assert.isNull(yield* nextOf(mine))
      yield* TestClock.adjust("2 hours")
      const fires = (job: CronJob) =>
        Effect.map(jobs.fires(owner, job.id, { limit: 9, offset: 0 }), (all) => all.length)
      assert.deepStrictEqual([yield* fires(mine), yield* fires(other)], [1, 3])
      // A run that was made before stays as it was.
      assert.deepStrictEqual(
        runs.map(({ status }) => status),
        ["PENDING"]
      )
      assert.deepStrictEqual((yield* runsOf(mine)).runs, runs)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("stops nothing elsewhere, nor where the removal is refused", () =>
    Effect.gen(function* () {
      const { id, jobs, member, nextOf, other, owner, remove, workspaces } = yield* makeJobs
      const elsewhere = yield* workspaces.create(member, { name: "Other" })
      const given = { workspaceId: elsewhere.id, name: "Job", schedule: "0 * * * *", prompt: "Do it" }
      const far = yield* jobs.create(member, given)
      yield* remove
      yield* Effect.flip(workspaces.removeMember(owner, id, owner.id))
      yield* Effect.flip(workspaces.removeMember(member, elsewhere.id, member.id))
      yield* Effect.flip(operator("user delete", owner))
      assert.strictEqual(yield* nextOf(far), "2026-11-20T09:00:00.000Z")
      assert.strictEqual(yield* nextOf(other), "2026-11-20T09:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("who is let in again finds the jobs off, and switches them on", () =>
    Effect.gen(function* () {
      const { jobs, member, mine, nextOf } = yield* makeJobs
      yield* operator("user disable", member)
      yield* operator("user enable", member)
      assert.deepInclude(yield* jobs.maker(member, mine.id), {
        isMember: true,
        stopReason: "maker_disabled"
      })
      assert.isNull(yield* nextOf(mine))
      yield* jobs.update(member, mine.id, { isActive: true })
      assert.deepStrictEqual(yield* jobs.maker(member, mine.id), { ...createdBy(member), ...running })
      assert.strictEqual(yield* nextOf(mine), "2026-11-20T09:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("A cron job", () => {
  it.effect("is taken over by an owner, and stops no more with its maker", () =>
    Effect.gen(function* () {
      const { jobs, mine, nextOf, owner, remove } = yield* makeJobs
      yield* setTime("2026-11-20T08:10:00.000Z")
      const updatedAt = new Date("2026-11-20T08:10:00.000Z")
      assert.deepStrictEqual(yield* jobs.takeOver(owner, mine.id), { ...mine, updatedAt })
      yield* remove
      assert.deepStrictEqual(yield* jobs.maker(owner, mine.id), { ...createdBy(owner), ...running })
      assert.strictEqual(yield* nextOf(mine), "2026-11-20T09:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("that was stopped goes on when it is taken over, counted from now", () =>
    Effect.gen(function* () {
      const { jobs, mine, nextOf, owner, remove } = yield* makeJobs
      yield* remove
      yield* setTime("2026-11-20T12:30:00.000Z")
      assert.isTrue((yield* jobs.takeOver(owner, mine.id)).isActive)
      assert.deepStrictEqual(yield* jobs.maker(owner, mine.id), { ...createdBy(owner), ...running })
      assert.strictEqual(yield* nextOf(mine), "2026-11-20T13:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("that somebody switched off stays off when it is taken over", () =>
    Effect.gen(function* () {
      const { jobs, member, mine, nextOf, owner, remove } = yield* makeJobs
      yield* jobs.update(member, mine.id, { isActive: false })
      yield* remove
      assert.isFalse((yield* jobs.takeOver(owner, mine.id)).isActive)
      assert.deepStrictEqual(yield* jobs.maker(owner, mine.id), { ...createdBy(owner), ...running })
      assert.isNull(yield* nextOf(mine))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is taken over by owners alone", () =>
    Effect.gen(function* () {
      const { jobs, member, mine, other, owner, stranger } = yield* makeJobs
      const refused = yield* Effect.flip(jobs.takeOver(member, other.id))
      assert.deepStrictEqual(
        [refused instanceof Forbidden, refused.error],
        [true, "only an owner of the workspace may do this"]
      )
      const error = yield* Effect.flip(jobs.takeOver(stranger, mine.id))
      assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "cron job not found"])
      assert.deepInclude(yield* jobs.maker(owner, mine.id), createdBy(member))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("whose maker is no member or unknown is that of who switches it on", () =>
    Effect.gen(function* () {
      const { id, jobs, make, member, mine, other, owner, remove, repo, stranger } = yield* makeJobs
      yield* (yield* WorkspaceRepo).addMember(id, stranger.id, "member", new Date())
      const unknown = yield* make(owner)
      yield* repo.update(unknown.id, { createdBy: null }, new Date())
      const off = yield* make(member)
      for (const job of [unknown, off, other]) yield* jobs.update(owner, job.id, { isActive: false })
      yield* remove
      // What is only edited stays stopped.
      assert.isFalse((yield* jobs.update(stranger, mine.id, { prompt: "New" })).isActive)
      assert.deepInclude(yield* jobs.maker(stranger, mine.id), {
        stopReason: "maker_left",
        ...createdBy(member)
      })
      for (const job of [mine, off, unknown, other]) {
        assert.isTrue((yield* jobs.update(stranger, job.id, { isActive: true })).isActive)
        const maker = job === other ? owner : stranger
        assert.deepStrictEqual(yield* jobs.maker(stranger, job.id), { ...createdBy(maker), ...running })
      }
      // On already: nobody else's.
      yield* jobs.update(owner, mine.id, { isActive: true })
      assert.deepInclude(yield* jobs.maker(owner, mine.id), createdBy(stranger))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("that an older version has switched on is not stopped", () =>
    Effect.gen(function* () {
      const { jobs, mine, owner, remove, repo } = yield* makeJobs
      yield* remove
      yield* repo.update(mine.id, { isActive: true }, new Date())
      assert.deepInclude(yield* jobs.maker(owner, mine.id), { stoppedAt: null, stopReason: null })
    }).pipe(Effect.provide(layerAtRest()))
  )
})
