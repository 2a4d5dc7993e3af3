import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { workerLost } from "../../src/Schemas/RunLoss.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { append } from "../support/Appended.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, newId } from "../support/Fixtures.ts"
import {
  completed,
  executionOf,
  failed,
  idsOf,
  makeRuns,
  minute,
  renewal,
  subject,
  times
} from "./RunSubject.ts"

export const suite = (it: It) =>
  describe("RunRepo, ends", { concurrent: false }, () => {
    it.effect("writes the end of a run, with what it cost and when", () =>
      Effect.gen(function* () {
        const { a, claim, find, runs, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 2)
        const [one, two] = yield* claim(a)
        if (one === undefined || two === undefined) return assert.fail()
        assert.isTrue(yield* runs.finish(executionOf(a, one), completed, times))
        assert.isTrue(yield* runs.finish(executionOf(a, two), failed, { at: at(51), firstTokenAt: null }))
        assert.deepStrictEqual(yield* find(one.id), {
          ...one,
          status: "COMPLETED",
          output: "Done",
          usage: completed.usage,
          firstTokenAt: at(40),
          finishedAt: at(50),
          updatedAt: at(50)
        })
        assert.deepStrictEqual(yield* find(two.id), {
          ...two,
          status: "FAILED",
          error: "No",
          errorCode: "no",
          finishedAt: at(51),
          updatedAt: at(51)
        })
        const { runs: listed } = yield* runs.list({ workspaceId, limit: 9, offset: 0 })
        assert.deepStrictEqual(listed, [yield* find(two.id), yield* find(one.id)])
      })
    )

    it.effect("keeps how far an answer came that is not whole", () =>
      Effect.gen(function* () {
        const { a, claim, find, runs, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 1)
        const [run] = yield* claim(a)
        if (run === undefined) return assert.fail()
        const half = { ...failed, output: "Once upon" }
        assert.isTrue(yield* runs.finish(executionOf(a, run), half, times))
        assert.deepInclude(yield* find(run.id), { status: "FAILED", output: "Once upon", errorCode: "no" })
        assert.isTrue(yield* runs.finish(executionOf(a, run), half, times))
        assert.isFalse(yield* runs.finish(executionOf(a, run), failed, times))
      })
    )

    it.effect("writes the same end again, and no other, and changes nothing by it", () =>
      Effect.gen(function* () {
        const { a, b, claim, find, runs, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 2)
        const [one, two] = yield* claim(a)
        if (one === undefined || two === undefined) return assert.fail()
        const [done, broken] = [executionOf(a, one), executionOf(a, two)]
        yield* runs.finish(done, completed, times)
        yield* runs.finish(broken, failed, times)
        const before = [yield* find(one.id), yield* find(two.id)]
        const later = { at: at(90), firstTokenAt: at(91) }
        assert.isTrue(yield* runs.finish(done, completed, later))
        assert.isTrue(yield* runs.finish(broken, failed, later))
        assert.isFalse(yield* runs.finish(done, failed, later))
        assert.isFalse(yield* runs.finish(broken, completed, later))
        for (const other of [
          { ...done, epoch: 2 },
          { ...done, epoch: 0 },
          { ...done, worker: b }
        ]) {
          assert.isFalse(yield* runs.finish(other, completed, later))
        }
        assert.deepStrictEqual([yield* find(one.id), yield* find(two.id)], before)
        assert.deepStrictEqual(yield* claim(b), [])
      })
    )

    it.effect("writes no other end of the same kind over one that is there", () =>
      Effect.gen(function* () {
        const { a, claim, find, runs, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 2)
        const [one, two] = yield* claim(a)
        if (one === undefined || two === undefined) return assert.fail()
        yield* runs.finish(executionOf(a, one), completed, times)
        yield* runs.release(a, { crashed: true, maxCrashes: 1 })
        const before = [yield* find(one.id), yield* find(two.id)]
        assert.deepStrictEqual(
          before.map(({ status }) => status),
          ["COMPLETED", "FAILED"]
        )
        assert.isFalse(yield* runs.finish(executionOf(a, one), { ...completed, output: "Other" }, times))
        assert.isFalse(yield* runs.finish(executionOf(a, two), failed, times), "it was given up")
        assert.deepStrictEqual([yield* find(one.id), yield* find(two.id)], before)
      })
    )

    it.effect(
      "writes an end for the latest execution alone, whichever of a worker end at the same time",
      () =>
        Effect.gen(function* () {
          const { a, claimOne, find, runs, takeOver, workspaceId } = yield* subject
          yield* makeRuns(workspaceId, 1)
          const lost = executionOf(a, yield* claimOne(a, 0))
          const [again] = yield* takeOver(a)
          const latest = executionOf(a, again ?? assert.fail("nothing was taken over"))
          const ends = yield* Effect.all(
            [runs.finish(lost, failed, times), runs.finish(latest, completed, times)],
            {
              concurrency: "unbounded"
            }
          )
          assert.deepStrictEqual(ends, [false, true])
          assert.strictEqual((yield* find(latest.id)).status, "COMPLETED")
        })
    )

    it.effect("writes no end for an execution that lost the run, or never had it", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        assert.isFalse(yield* runs.finish({ id, worker: a, epoch: 0 }, completed, times))
        const lost = executionOf(a, yield* claimOne(a, 0))
        const [taken] = yield* takeOver(b)
        const nowhere = { id: yield* newId<RunId>("run"), worker: b, epoch: 2 }
        for (const execution of [lost, { ...lost, epoch: 2 }, { ...lost, worker: b }, nowhere]) {
          assert.isFalse(yield* runs.finish(execution, completed, times))
        }
        assert.deepStrictEqual(yield* find(id), taken)
        assert.isTrue(yield* runs.finish({ id, worker: b, epoch: 2 }, completed, times))
      })
    )

    it.effect("keeps the moment of the first token over a takeover", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        yield* makeRun(workspaceId)
        const run = yield* claimOne(a, 0)
        assert.strictEqual(run.firstTokenAt, null)
        const events = yield* RunEventRepo
        assert.isTrue(yield* append(events, executionOf(a, run), [], at(4)))
        const [taken] = yield* takeOver(b)
        const heir = executionOf(b, taken ?? assert.fail())
        yield* runs.finish(heir, failed, { at: at(50), firstTokenAt: at(40) })
        assert.deepInclude(yield* find(run.id), { firstTokenAt: at(4), finishedAt: at(50) })
      })
    )

    it.effect("cancels what is not over, whoever executes it, and nothing else", () =>
      Effect.gen(function* () {
        const { a, b, claim, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const running = yield* makeRun(workspaceId)
        const execution = executionOf(a, yield* claimOne(a))
        const waiting = yield* makeRun(workspaceId)
        const asking = yield* makeRun(workspaceId, { status: "WAITING_APPROVAL" })
        for (const { id } of [running, waiting, asking]) {
          assert.isTrue(yield* runs.cancel(id, at(70)))
          const cancelled = yield* find(id)
          assert.deepInclude(cancelled, {
            status: "CANCELLED",
            output: null,
            error: null,
            finishedAt: at(70),
            updatedAt: at(70)
          })
          assert.isFalse(yield* runs.cancel(id, at(71)))
          assert.deepStrictEqual(yield* find(id), cancelled)
        }
        assert.isFalse(yield* runs.finish(execution, completed, times))
        assert.isFalse(yield* runs.finish(execution, failed, times))
        assert.deepStrictEqual(yield* runs.renew(a, [execution], minute), renewal([], [execution.id]))
        assert.deepStrictEqual([yield* claim(b), yield* takeOver(b)], [[], []])
        assert.strictEqual((yield* find(running.id)).status, "CANCELLED")

        const over = yield* Effect.forEach(["COMPLETED", "FAILED"] as const, (status) =>
          makeRun(workspaceId, { status })
        )
        for (const run of over) {
          assert.isFalse(yield* runs.cancel(run.id, at(72)))
          assert.deepStrictEqual(yield* find(run.id), run)
        }
        assert.isFalse(yield* runs.cancel(yield* newId<RunId>("run"), at(72)))
      })
    )

    it.effect("releases the unfinished runs of one worker, and no other", () =>
      Effect.gen(function* () {
        const { a, b, claim, claimOne, find, runs, status, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 3)
        const [over, cancelled, unfinished] = yield* claim(a)
        if (!over || !cancelled || !unfinished) return assert.fail()
        yield* runs.finish(executionOf(a, over), completed, times)
        yield* runs.cancel(cancelled.id, at())
        const other = yield* makeRun(workspaceId)
        yield* claimOne(b)
        yield* runs.release(a, { crashed: false, maxCrashes: 1 })
        assert.strictEqual(yield* status(over.id), "COMPLETED")
        assert.strictEqual(yield* status(cancelled.id), "CANCELLED")
        assert.deepInclude(yield* find(unfinished.id), { status: "PENDING", attempts: 1, epoch: 1 })
        assert.strictEqual(yield* status(other.id), "RUNNING")
        assert.isFalse(yield* runs.finish(executionOf(a, unfinished), completed, times))
        assert.deepStrictEqual(yield* runs.renew(a, [unfinished], minute), renewal([], [unfinished.id]))
        assert.deepStrictEqual(idsOf(yield* claim(b)), [unfinished.id])
      })
    )

    it.effect("counts a release as a crash only when it was one, together with takeovers", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        for (let drain = 0; drain < 4; drain++) {
          yield* claimOne(a)
          yield* runs.release(a, { crashed: false, maxCrashes: 3 })
        }
        yield* claimOne(a)
        yield* runs.release(a, { crashed: true, maxCrashes: 3 })
        assert.deepInclude(yield* find(id), { status: "RUNNING", error: null, finishedAt: null })
        assert.deepStrictEqual(idsOf(yield* takeOver(a, { leaseMillis: 0 })), [id])
        assert.deepStrictEqual(idsOf(yield* takeOver(b)), [id])
        yield* runs.release(a, { crashed: true, maxCrashes: 3 })
        assert.strictEqual((yield* find(id)).status, "RUNNING")
        yield* runs.release(b, { crashed: true, maxCrashes: 3 })
        const poison = yield* find(id)
        assert.deepInclude(poison, { status: "FAILED", error: workerLost(3), attempts: 7 })
        assert.isAbove(poison.finishedAt?.getTime() ?? 0, Date.now() - minute)
      })
    )
  })
