import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type StoredCronJob, toCronJob } from "../../src/Schemas/CronJob.ts"
import { ReferenceGone } from "../../src/Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId } from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"
import { makeCronJob } from "./CronJobRepo.ts"

const past = new Date("2026-01-01T00:00:00.000Z")

/** Two members of two workspaces. */
const makeMakers = Effect.gen(function* () {
  const workspaces = yield* WorkspaceRepo
  const [ann, bob] = [yield* makeUser, yield* makeUser]
  const [id, elsewhere] = [yield* makeWorkspace, yield* makeWorkspace]
  for (const user of [ann, bob]) {
    for (const workspaceId of [id, elsewhere])
      yield* workspaces.addMember(workspaceId, user.id, "member", at())
  }
  return { ann, bob, elsewhere, id, workspaces }
})

const areKept = (expected: ReadonlyArray<StoredCronJob>) =>
  Effect.gen(function* () {
    const jobs = yield* CronJobRepo
    const found = yield* Effect.forEach(expected, ({ id }) => jobs.find(id))
    assert.deepStrictEqual(
      found,
      expected.map((job) => Option.some(job))
    )
  })

export const suite = (it: It) =>
  describe("Makers of a CronJobRepo", () => {
    it.effect("are kept, and changed with the rest", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { ann, bob, id } = yield* makeMakers
        const job = yield* makeCronJob(id, { createdBy: ann.id })
        assert.strictEqual(job.createdBy, ann.id)
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.some(job))
        const stopped = { createdBy: bob.id, stoppedAt: at(5), stopReason: "maker_left" } as const
        const updated = { ...job, ...stopped, updatedAt: at(6) }
        assert.deepStrictEqual(yield* jobs.update(job.id, stopped, at(6)), Option.some(updated))
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.some(updated))
      })
    )

    it.effect("have to be members that are not disabled; nothing is written otherwise", () =>
      Effect.gen(function* () {
        const [jobs, users] = [yield* CronJobRepo, yield* UserRepo]
        const { ann, bob, elsewhere, id, workspaces } = yield* makeMakers
        const job = yield* makeCronJob(id, { createdBy: ann.id })
        const [disabled, gone] = [yield* makeUser, yield* makeUser]
        for (const user of [disabled, gone]) yield* workspaces.addMember(id, user.id, "owner", at())
        yield* users.setDisabled(disabled.id, at())
        yield* users.remove(gone.id, at())
        yield* workspaces.removeMember(id, bob.id)
        const nobody = yield* newId<UserId>("user")
        for (const createdBy of [disabled.id, gone.id, bob.id, nobody]) {
          const error = yield* Effect.flip(makeCronJob(id, { createdBy }))
          assert.deepStrictEqual<unknown>(error, new ReferenceGone({ field: "createdBy" }))
        }
        assert.deepStrictEqual(yield* listed(jobs, { workspaceId: id }), [toCronJob(job)])
        assert.strictEqual((yield* makeCronJob(elsewhere, { createdBy: bob.id })).createdBy, bob.id)
      })
    )

    it.effect("are locked where they are members that are not disabled", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const { ann, bob, elsewhere, id, workspaces } = yield* makeMakers
        const locked = (workspaceId: WorkspaceId, ...userIds: ReadonlyArray<UserId>) =>
          workspaces.lockMembers(workspaceId, userIds)
        const nobody = yield* newId<UserId>("user")
        assert.sameMembers([...(yield* locked(id, bob.id, nobody, ann.id))], [ann.id, bob.id])
        assert.deepStrictEqual(yield* locked(id, bob.id), [bob.id])
        yield* workspaces.removeMember(id, bob.id)
        yield* users.setDisabled(ann.id, at())
        assert.deepStrictEqual(yield* locked(id, ann.id, bob.id), [])
        assert.deepStrictEqual(yield* locked(elsewhere, ann.id, bob.id), [bob.id])
        yield* users.remove(bob.id, at())
        assert.deepStrictEqual(yield* locked(elsewhere, bob.id), [])
      })
    )

    it.effect("stop what is on of theirs, in one workspace or in all", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { ann, bob, elsewhere, id } = yield* makeMakers
        const mine = { createdBy: ann.id, nextFireAt: at(60_000) }
        const [one, two] = [yield* makeCronJob(id, mine), yield* makeCronJob(id, mine)]
        const off = yield* makeCronJob(id, { ...mine, isActive: false, nextFireAt: null })
        const other = yield* makeCronJob(id, { createdBy: bob.id, nextFireAt: at(60_000) })
        const unknown = yield* makeCronJob(id, { nextFireAt: at(60_000) })
        const far = yield* makeCronJob(elsewhere, mine)
        const stopped = (stopReason: "maker_disabled" | "maker_left", millis: number) => ({
          isActive: false,
          nextFireAt: null,
          stoppedAt: at(millis),
          stopReason,
          updatedAt: at(millis)
        })
        yield* jobs.stopOf({ userId: ann.id, workspaceId: id }, "maker_left", at(7))
        const ofOne = [one, two].map((job) => ({ ...job, ...stopped("maker_left", 7) }))
        const others = [off, other, unknown]
        yield* areKept([...ofOne, ...others, far])
        // What is stopped stays as it is.
        yield* jobs.stopOf({ userId: ann.id, workspaceId: null }, "maker_disabled", at(8))
        yield* areKept([...ofOne, ...others, { ...far, ...stopped("maker_disabled", 8) }])
      })
    )

    it.effect("leave no slot of a job that was stopped", () =>
      Effect.gen(function* () {
        const [fires, jobs, transaction] = [yield* CronFireRepo, yield* CronJobRepo, yield* Transaction]
        const { ann, id } = yield* makeMakers
        const job = yield* makeCronJob(id, { createdBy: ann.id, nextFireAt: past })
        const isDue = transaction.atomically(
          Effect.map(fires.claim(1_000), (claimed) => claimed.jobs.some((due) => due.id === job.id))
        )
        assert.isTrue(yield* isDue)
        yield* jobs.stopOf({ userId: ann.id, workspaceId: null }, "maker_left", at())
        assert.isFalse(yield* isDue)
        assert.deepStrictEqual(yield* fires.list({ cronJobId: job.id, limit: 9, offset: 0 }), [])
      })
    )
  })
