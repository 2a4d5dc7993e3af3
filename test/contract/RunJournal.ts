import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ProviderKeyId, RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, newId, unicode } from "../support/Fixtures.ts"
import { executionOf, failed, subject as ofRuns, times } from "./RunSubject.ts"

const model: JournalStep = {
  type: "model",
  text: unicode,
  toolCalls: [{ id: "call_1", name: "read", arguments: { path: unicode, deep: [1, null, { a: [] }] } }],
  usage: { inputTokens: 3, outputTokens: 4 }
}
const ours = { provider: "openai", model: unicode, providerKeyId: "pkey_gone" as ProviderKeyId }
const operators = { provider: "offline", model: "offline", providerKeyId: null }
const tool = (id: string): JournalStep => ({
  type: "tool",
  result: { id, name: "read", result: [0.5, "x", null, {}], isError: true, durationMs: 12 }
})

/** A run that waits, and its journal. */
const subject = Effect.gen(function* () {
  const given = yield* ofRuns
  const journal = yield* RunJournal
  const { id } = yield* makeRun(given.workspaceId)
  const claim = (worker: string, leaseMillis?: number) =>
    Effect.map(given.claimOne(worker, leaseMillis), (run) => {
      assert.strictEqual(run.id, id)
      return executionOf(worker, run)
    })
  const takeOver = (worker: string, leaseMillis?: number) =>
    Effect.map(given.takeOver(worker, leaseMillis === undefined ? {} : { leaseMillis }), ([run]) =>
      executionOf(worker, run ?? assert.fail("nothing was taken over"))
    )
  const steps = Effect.map(journal.steps(id), (found) => Array.from(found).sort(([a], [b]) => a - b))
  const answeredBy = Effect.map(given.find(id), (run) => run.answeredBy)
  return { a: given.a, answeredBy, b: given.b, claim, id, journal, runs: given.runs, steps, takeOver }
})

export const suite = (it: It) =>
  describe("RunJournal", { concurrent: false }, () => {
    it.effect("is empty first, and keeps the steps for the next execution", () =>
      Effect.gen(function* () {
        const { a, b, claim, journal, steps, takeOver } = yield* subject
        assert.deepStrictEqual(yield* steps, [])
        const first = yield* claim(a, 0)
        const done = [model, tool("1"), tool("2"), model]
        for (const [index, step] of done.entries()) assert.isTrue(yield* journal.record(first, index, step))
        const second = yield* takeOver(b)
        assert.deepStrictEqual(yield* steps, [...done.entries()])
        assert.isTrue(yield* journal.record(second, 4, tool("3")))
        assert.deepStrictEqual(yield* steps, [...[...done, tool("3")].entries()])
        assert.deepStrictEqual(yield* journal.steps(yield* newId<RunId>("run")), new Map())
      })
    )

    it.effect(
      "keeps a step of the latest execution alone, whichever of a worker write at the same time",
      () =>
        Effect.gen(function* () {
          const { a, claim, journal, steps, takeOver } = yield* subject
          const lost = yield* claim(a, 0)
          const latest = yield* takeOver(a)
          const written = yield* Effect.all(
            [journal.record(lost, 0, tool("lost")), journal.record(latest, 1, model)],
            {
              concurrency: "unbounded"
            }
          )
          assert.deepStrictEqual(written, [false, true])
          assert.deepStrictEqual(yield* steps, [[1, model]])
        })
    )

    it.effect("keeps steps that finish out of order under their index", () =>
      Effect.gen(function* () {
        const { a, claim, journal, steps } = yield* subject
        const execution = yield* claim(a)
        assert.isTrue(yield* journal.record(execution, 2, tool("2")))
        assert.isTrue(yield* journal.record(execution, 0, model))
        assert.deepStrictEqual(yield* steps, [
          [0, model],
          [2, tool("2")]
        ])
      })
    )

    it.effect("keeps the first of a step that the same execution writes again", () =>
      Effect.gen(function* () {
        const { a, claim, journal, steps } = yield* subject
        const execution = yield* claim(a)
        assert.isTrue(yield* journal.record(execution, 0, tool("first")))
        assert.isTrue(yield* journal.record(execution, 0, tool("first")))
        assert.isTrue(yield* journal.record(execution, 0, tool("second")))
        assert.deepStrictEqual(yield* steps, [[0, tool("first")]])
      })
    )

    it.effect("takes each of 16 steps that are written at the same time, twice each", () =>
      Effect.gen(function* () {
        const { a, claim, journal, steps } = yield* subject
        const execution = yield* claim(a)
        const indexes = Array.from({ length: 32 }, (_, n) => n % 16)
        const written = yield* Effect.forEach(
          indexes,
          (index) => journal.record(execution, index, tool(`${index}`)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          written,
          indexes.map(() => true)
        )
        assert.deepStrictEqual(
          yield* steps,
          indexes.slice(0, 16).map((index) => [index, tool(`${index}`)])
        )
      })
    )

    it.effect("keeps the journals of two runs apart", () =>
      Effect.gen(function* () {
        const one = yield* subject
        yield* one.journal.record(yield* one.claim(one.a), 0, tool("one"))
        const two = yield* subject
        yield* two.journal.record(yield* two.claim(two.a), 0, tool("two"))
        assert.deepStrictEqual(yield* one.steps, [[0, tool("one")]])
        assert.deepStrictEqual(yield* two.steps, [[0, tool("two")]])
      })
    )

    it.effect(
      "makes the model that a step names the run's, whatever becomes of its key, until another is named",
      () =>
        Effect.gen(function* () {
          const { a, answeredBy, b, claim, id, journal, runs, steps, takeOver } = yield* subject
          const first = yield* claim(a, 0)
          assert.isNull(yield* answeredBy)
          assert.isTrue(yield* journal.record(first, 0, { ...model, answeredBy: ours }))
          assert.deepStrictEqual(yield* answeredBy, ours)
          assert.isTrue(yield* journal.record(first, 1, tool("1")))
          assert.isTrue(yield* journal.record(first, 2, model))
          const second = yield* takeOver(b)
          assert.deepStrictEqual(yield* answeredBy, ours)

          assert.isFalse(
            yield* journal.record(first, 3, { ...model, answeredBy: operators }),
            "not the latest"
          )
          assert.isFalse(
            yield* journal.record(second, 2, { ...model, answeredBy: operators }),
            "there already"
          )
          assert.deepStrictEqual(yield* answeredBy, ours)

          for (const _ of ["written", "written again"]) {
            assert.isTrue(yield* journal.record(second, 3, { ...model, answeredBy: operators }))
            assert.deepStrictEqual(yield* answeredBy, operators)
          }
          assert.deepStrictEqual((yield* steps).at(-1), [3, { ...model, answeredBy: operators }])
          assert.isTrue(yield* runs.finish(second, failed, times))
          assert.deepStrictEqual(yield* answeredBy, operators)
          assert.isFalse(yield* journal.record({ ...second, id }, 4, { ...model, answeredBy: ours }), "over")
          assert.deepStrictEqual(yield* answeredBy, operators)
        })
    )

    it.effect("takes no step of a former execution, and none that another has written", () =>
      Effect.gen(function* () {
        const { a, b, claim, id, journal, steps, takeOver } = yield* subject
        const lost = yield* claim(a, 0)
        yield* journal.record(lost, 0, tool("a"))
        const heir = yield* takeOver(b)
        assert.isFalse(yield* journal.record(lost, 1, tool("late")))
        assert.isFalse(
          yield* journal.record(lost, 0, tool("a")),
          "a step of its own, but it is not the latest"
        )
        assert.isFalse(yield* journal.record(heir, 0, tool("b")), "another execution has written it")
        for (const forged of [
          { ...lost, epoch: heir.epoch },
          { id, worker: b, epoch: lost.epoch }
        ]) {
          assert.isFalse(yield* journal.record(forged, 1, tool("forged")))
        }
        assert.deepStrictEqual(yield* steps, [[0, tool("a")]])
        assert.isTrue(yield* journal.record(heir, 1, tool("b")))
        assert.deepStrictEqual(yield* steps, [
          [0, tool("a")],
          [1, tool("b")]
        ])
      })
    )

    it.effect("takes no step of a former execution of the same worker", () =>
      Effect.gen(function* () {
        const { a, claim, journal, runs, steps, takeOver } = yield* subject
        const former = [yield* claim(a)]
        yield* runs.release(a, { crashed: false, maxCrashes: 3 })
        former.push(yield* claim(a, 0))
        const latest = yield* takeOver(a)
        for (const execution of former) assert.isFalse(yield* journal.record(execution, 0, tool("late")))
        assert.deepStrictEqual(yield* steps, [])
        assert.isTrue(yield* journal.record(latest, 0, model))
      })
    )

    it.effect("takes no step of a run that was never claimed, is over, was released or cancelled", () =>
      Effect.gen(function* () {
        const { a, claim, id, journal, runs, steps } = yield* subject
        assert.isFalse(yield* journal.record({ id, worker: a, epoch: 0 }, 0, tool("unclaimed")))
        const released = yield* claim(a)
        yield* runs.release(a, { crashed: false, maxCrashes: 3 })
        assert.isFalse(yield* journal.record(released, 0, tool("released")))
        const over = yield* claim(a)
        yield* journal.record(over, 0, tool("kept"))
        yield* runs.finish(over, failed, times)
        assert.isFalse(yield* journal.record(over, 0, tool("kept")))
        assert.isFalse(yield* journal.record(over, 1, tool("over")))
        assert.deepStrictEqual(yield* steps, [[0, tool("kept")]])

        const other = yield* subject
        const cancelled = yield* other.claim(other.a)
        yield* other.journal.record(cancelled, 0, tool("before"))
        yield* other.runs.cancel(other.id, at())
        assert.isFalse(yield* other.journal.record(cancelled, 1, tool("after")))
        assert.deepStrictEqual(yield* other.steps, [[0, tool("before")]])
        const nowhere = { ...cancelled, id: yield* newId<RunId>("run") }
        assert.isFalse(yield* journal.record(nowhere, 0, tool("nowhere")))
      })
    )
  })
