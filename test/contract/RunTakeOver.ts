import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { workerLost } from "../../src/Schemas/RunLoss.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import type { Renewal } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, makeWorkspace, newId } from "../support/Fixtures.ts"
import { readsWhileLocked } from "./Locking.ts"
import {
  completed,
  countOf,
  executionOf,
  idsOf,
  makeRuns,
  minute,
  renewal,
  subject,
  times
} from "./RunSubject.ts"

export const suite = (it: It) =>
  describe("RunRepo, takeover", { concurrent: false }, () => {
    it.effect("takes a run over when its lease has ended, also one renewed shortly, and not before", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const run = yield* makeRun(workspaceId)
        const { epoch, startedAt } = yield* claimOne(a)
        assert.deepStrictEqual(yield* takeOver(b), [])
        yield* runs.renew(a, [{ id: run.id, epoch }], 0)
        const [taken, ...rest] = yield* takeOver(b)
        assert.deepStrictEqual(rest, [])
        assert.deepStrictEqual(taken, {
          ...run,
          status: "RUNNING",
          attempts: 2,
          epoch: 2,
          startedAt,
          updatedAt: taken?.updatedAt ?? at()
        })
        assert.deepStrictEqual(yield* find(run.id), taken)
        assert.deepStrictEqual(yield* takeOver(a), [], "the lease of the heir has not ended")
      })
    )

    it.effect("takes over no more than the limit, and none that waits or is over", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, takeOver, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 4)
        const [ended, ...lost] = yield* claim(a, { leaseMillis: 0 })
        if (ended === undefined) return assert.fail()
        yield* runs.finish(executionOf(a, ended), completed, times)
        yield* makeRun(workspaceId)
        yield* makeRun(workspaceId, { status: "WAITING_APPROVAL" })
        const options = { worker: b, leaseMillis: minute, maxCrashes: 3 }
        const first = yield* runs.takeOver({ ...options, limit: 2 })
        assert.strictEqual(first.length, 2)
        assert.deepStrictEqual(idsOf([...first, ...(yield* takeOver(b))]).sort(), idsOf(lost).sort())
        assert.strictEqual(yield* countOf(workspaceId, "RUNNING"), 3)
      })
    )

    it.effect("fails a run that has lost its worker too often, and does not answer it", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        for (const lost of [1, 2]) {
          const [taken] = yield* takeOver(lost === 1 ? b : a, { leaseMillis: 0 })
          assert.deepInclude(taken, {
            id,
            attempts: 1 + lost,
            epoch: 1 + lost,
            error: null,
            finishedAt: null
          })
        }
        assert.deepStrictEqual(yield* takeOver(b), [])
        const poison = yield* find(id)
        assert.deepInclude(poison, { status: "FAILED", error: workerLost(3), attempts: 3, output: null })
        assert.isAbove(poison.finishedAt?.getTime() ?? 0, Date.now() - minute)
        assert.deepStrictEqual(yield* takeOver(b), [])
        assert.isFalse(yield* runs.finish({ id, worker: a, epoch: 3 }, completed, times))
        assert.deepStrictEqual(yield* runs.renew(a, [{ id, epoch: 3 }], minute), renewal([], [id]))
        assert.deepStrictEqual(yield* find(id), poison)
      })
    )

    it.effect("counts for nothing when a worker takes its own run over: it was away, but lived", () =>
      Effect.gen(function* () {
        const { a, claimOne, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        for (let n = 0; n < 5; n++)
          assert.deepStrictEqual(idsOf(yield* takeOver(a, { leaseMillis: 0 })), [id])
      })
    )

    it.effect("counts anew after a step: a run that gets on is no poison", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, takeOver, workspaceId } = yield* subject
        const journal = yield* RunJournal
        const { id } = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        const result = { id: "c", name: "t", result: null, isError: false, durationMs: 0 }
        for (let epoch = 1; epoch <= 5; epoch++) {
          const worker = epoch % 2 === 1 ? a : b
          assert.isTrue(yield* journal.record({ id, worker, epoch }, epoch, { type: "tool", result }))
          const [taken] = yield* takeOver(worker === a ? b : a, { leaseMillis: 0 })
          assert.strictEqual(taken?.id, id)
        }
        assert.deepStrictEqual(idsOf(yield* takeOver(a, { leaseMillis: 0 })), [id])
        assert.deepStrictEqual(yield* takeOver(b), [])
      })
    )

    it.effect("answers the others of a takeover in which some are failed", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, status, takeOver, workspaceId } = yield* subject
        const poison = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        yield* takeOver(b, { leaseMillis: 0 })
        const other = yield* makeRun(workspaceId)
        yield* claimOne(b, 0)
        assert.deepStrictEqual(idsOf(yield* takeOver(a, { maxCrashes: 2 })), [other.id])
        assert.strictEqual(yield* status(poison.id), "FAILED")
      })
    )

    it.effect("renews, so that nobody takes the run over", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        assert.deepStrictEqual(yield* runs.renew(a, [{ id, epoch: 1 }], minute), renewal([id], []))
        assert.deepStrictEqual(yield* takeOver(b), [])
      })
    )

    it.effect("renews the executions that are still the latest, of those it is given", () =>
      Effect.gen(function* () {
        const { a, b, claim, claimOne, runs, takeOver, workspaceId } = yield* subject
        const lost = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        assert.deepStrictEqual(idsOf(yield* takeOver(b)), [lost.id])
        yield* makeRuns(workspaceId, 4)
        const [kept, over, cancelled, unnamed] = yield* claim(a)
        if (!kept || !over || !cancelled || !unnamed) return assert.fail()
        yield* runs.finish(executionOf(a, over), completed, times)
        yield* runs.cancel(cancelled.id, at())
        const named = [
          { id: lost.id, epoch: 1 },
          { id: lost.id, epoch: 2 },
          kept,
          over,
          cancelled,
          { id: unnamed.id, epoch: 2 },
          { id: yield* newId<RunId>("run"), epoch: 1 }
        ].map(({ epoch, id }) => ({ id, epoch }))
        assert.deepStrictEqual(
          yield* runs.renew(a, named, minute),
          renewal(
            [kept.id],
            named.flatMap(({ id }) => (id === kept.id ? [] : [id]))
          )
        )
        assert.deepStrictEqual(yield* runs.renew(a, [], minute), renewal([], []))
      })
    )

    it.effect("renews all others while one of them is being written, and calls that one not lost", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId } = yield* subject
        yield* makeRun(yield* makeWorkspace)
        yield* makeRuns(workspaceId, 3)
        const held = yield* claim(a)
        const [written] = held
        if (written === undefined) return assert.fail()
        const journal = yield* RunJournal
        const execution = executionOf(a, written)
        const step = { type: "model", text: "", toolCalls: [], usage: noUsage } as const
        const renewals: Array<Renewal> = []
        yield* readsWhileLocked(
          journal.record(execution, 0, step),
          Effect.map(runs.renew(a, held, minute), (answer) => void renewals.push(answer))
        )
        const [{ lost, renewed } = renewal([], [])] = renewals
        assert.deepStrictEqual([renewals.length, lost.size], [1, 0])
        for (const { id } of held.slice(1)) assert.isTrue(renewed.has(id))
      })
    )

    it.effect("renews, finishes and records nothing for a former execution of the same worker", () =>
      Effect.gen(function* () {
        const { a, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        const former = [executionOf(a, yield* claimOne(a))]
        yield* runs.release(a, { crashed: false, maxCrashes: 3 })
        former.push(executionOf(a, yield* claimOne(a, 0)))
        const [latest] = yield* takeOver(a)
        for (const execution of former) {
          assert.deepStrictEqual(yield* runs.renew(a, [execution], 0), renewal([], [id]))
          assert.isFalse(yield* runs.finish(execution, completed, times))
        }
        assert.deepStrictEqual(yield* find(id), latest)
        assert.deepStrictEqual(yield* takeOver("heir"), [], "a former execution shortened the lease")
        assert.isTrue(yield* runs.finish({ id, worker: a, epoch: 3 }, completed, times))
      })
    )
  })
