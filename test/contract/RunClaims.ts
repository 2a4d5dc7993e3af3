import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { RunStatus } from "../../src/Schemas/Run.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, makeWorkspace, newId } from "../support/Fixtures.ts"

const minute = 60_000
const completed = { status: "COMPLETED", output: "Done", usage: { inputTokens: 1, outputTokens: 2 } } as const

/** A claim takes runs of every workspace: what an earlier test left is taken out of the way first. */
const subject = Effect.gen(function* () {
  const runs = yield* RunRepo
  yield* runs.claim({ worker: "sweeper", limit: 10_000, leaseMillis: 60 * minute })
  const unique = yield* newId<string>("run")
  const claim = (worker: string, leaseMillis = minute, limit = 10) =>
    Effect.map(runs.claim({ worker, limit, leaseMillis }), (claimed) => claimed.map(({ id }) => id))
  const status = (id: RunId) => Effect.map(runs.find(id), (run) => Option.getOrThrow(run).status)
  return { a: `a ${unique}`, b: `b ${unique}`, claim, runs, status, workspaceId: yield* makeWorkspace }
})

const makeRuns = (workspaceId: WorkspaceId, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) => makeRun(workspaceId, { createdAt: at(n) })
  )

export const suite = (it: It) =>
  describe("RunRepo, claims", { concurrent: false }, () => {
    it.effect("makes a claimed run RUNNING, and counts the attempt", () =>
      Effect.gen(function* () {
        const { a, runs, workspaceId } = yield* subject
        const run = yield* makeRun(workspaceId, { connectorIds: ["conn_1"] })
        const [claimed, ...rest] = yield* runs.claim({ worker: a, limit: 10, leaseMillis: minute })
        assert.deepStrictEqual(rest, [])
        assert.deepStrictEqual(claimed, {
          ...run,
          status: "RUNNING",
          attempts: 1,
          updatedAt: claimed?.updatedAt ?? at()
        })
        assert.isAbove(claimed?.updatedAt.getTime() ?? 0, Date.now() - minute)
        assert.deepStrictEqual(yield* runs.find(run.id), Option.fromNullishOr(claimed))
      })
    )

    it.effect("takes the oldest first, those of one moment by id, up to the limit", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId } = yield* subject
        const one = yield* makeRun(workspaceId, { createdAt: at(3) })
        const two = yield* makeRun(workspaceId, { createdAt: at(2) })
        const three = yield* makeRun(workspaceId, { createdAt: at(2) })
        const four = yield* makeRun(workspaceId, { createdAt: at(1) })
        assert.deepStrictEqual(yield* claim(a, minute, 2), [four.id, two.id])
        assert.deepStrictEqual(yield* claim(a, minute, 9), [three.id, one.id])
        assert.deepStrictEqual(yield* claim(a, minute, 9), [])
      })
    )

    it.effect("takes none that is over, waits for approval, or is leased", () =>
      Effect.gen(function* () {
        const { a, b, claim, status, workspaceId } = yield* subject
        const idle: ReadonlyArray<RunStatus> = ["WAITING_APPROVAL", "COMPLETED", "FAILED", "CANCELLED"]
        const made = yield* Effect.forEach(idle, (given) => makeRun(workspaceId, { status: given }))
        const leased = yield* makeRun(workspaceId)
        assert.deepStrictEqual(yield* claim(a), [leased.id])
        assert.deepStrictEqual(yield* claim(b), [])
        assert.deepStrictEqual(yield* Effect.forEach(made, ({ id }) => status(id)), idle)
      })
    )

    it.effect("gives each of 5 runs to one of 20 workers at the same time", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId } = yield* subject
        const made = yield* makeRuns(workspaceId, 5)
        const claimed = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, n) => `${a} ${n}`),
          (worker) => claim(worker, minute, 1),
          { concurrency: "unbounded" }
        )
        assert.isAtMost(Math.max(...claimed.map(({ length }) => length)), 1)
        assert.deepStrictEqual(claimed.flat().sort(), made.map(({ id }) => id).sort())
      })
    )

    it.effect("takes a run over when its lease has ended, also one renewed shortly", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const run = yield* makeRun(workspaceId)
        yield* claim(a, minute)
        yield* runs.renew(a, [run.id], 0)
        assert.deepStrictEqual(yield* claim(b), [run.id])
        assert.strictEqual(Option.getOrThrow(yield* runs.find(run.id)).attempts, 2)
      })
    )

    it.effect("renews, so that nobody takes the run over", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const run = yield* makeRun(workspaceId)
        yield* claim(a, 0)
        assert.deepStrictEqual(yield* runs.renew(a, [run.id], minute), new Set([run.id]))
        assert.deepStrictEqual(yield* claim(b), [])
      })
    )

    it.effect("renews what the worker still owns, of what it names", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const lost = yield* makeRun(workspaceId)
        yield* claim(a, 0)
        assert.deepStrictEqual(yield* claim(b), [lost.id])
        const [kept, over, unnamed] = yield* makeRuns(workspaceId, 3)
        const ids = [kept?.id, over?.id, unnamed?.id] as [RunId, RunId, RunId]
        assert.deepStrictEqual(yield* claim(a), ids)
        yield* runs.finish(ids[1], a, completed, at())
        const nowhere = yield* newId<RunId>("run")
        const named = [lost.id, ids[0], ids[1], nowhere]
        assert.deepStrictEqual(yield* runs.renew(a, named, minute), new Set([ids[0]]))
        assert.deepStrictEqual(yield* runs.renew(a, [], minute), new Set())
      })
    )

    it.effect("writes the end of a run, once", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const [one, two] = yield* makeRuns(workspaceId, 2)
        if (one === undefined || two === undefined) return assert.fail()
        yield* claim(a)
        assert.isTrue(yield* runs.finish(one.id, a, completed, at(50)))
        assert.isTrue(
          yield* runs.finish(two.id, a, { status: "FAILED", error: "No", usage: noUsage }, at(51))
        )
        const over = [
          { ...one, status: "COMPLETED", attempts: 1, output: "Done", updatedAt: at(50) },
          { ...two, status: "FAILED", attempts: 1, error: "No", updatedAt: at(51) }
        ] as const
        assert.deepStrictEqual(yield* runs.find(one.id), Option.some(over[0]))
        assert.deepStrictEqual(yield* runs.find(two.id), Option.some(over[1]))
        assert.isFalse(
          yield* runs.finish(one.id, a, { status: "FAILED", error: "No", usage: noUsage }, at(60))
        )
        assert.deepStrictEqual(yield* runs.find(one.id), Option.some(over[0]))
        assert.deepStrictEqual(yield* claim(b), [])
      })
    )

    it.effect("writes no end for a worker that lost the run, or never had it", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const run = yield* makeRun(workspaceId)
        assert.isFalse(yield* runs.finish(run.id, a, completed, at()))
        yield* claim(a, 0)
        yield* claim(b)
        const before = yield* runs.find(run.id)
        assert.isFalse(yield* runs.finish(run.id, a, completed, at()))
        assert.isFalse(yield* runs.finish(yield* newId<RunId>("run"), a, completed, at()))
        assert.deepStrictEqual(yield* runs.find(run.id), before)
        assert.isTrue(yield* runs.finish(run.id, b, completed, at()))
      })
    )

    it.effect("releases the unfinished runs of one worker, and no other", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, status, workspaceId } = yield* subject
        const [over, unfinished] = yield* makeRuns(workspaceId, 2)
        if (over === undefined || unfinished === undefined) return assert.fail()
        yield* claim(a)
        yield* runs.finish(over.id, a, completed, at())
        const other = yield* makeRun(workspaceId)
        yield* claim(b)
        yield* runs.release(a)
        assert.strictEqual(yield* status(over.id), "COMPLETED")
        assert.strictEqual(yield* status(unfinished.id), "PENDING")
        assert.strictEqual(yield* status(other.id), "RUNNING")
        assert.isFalse(yield* runs.finish(unfinished.id, a, completed, at()))
        assert.deepStrictEqual(yield* claim(b), [unfinished.id])
      })
    )
  })
