import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { type Journal, RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, makeWorkspace, unicode } from "../support/Fixtures.ts"

const minute = 60_000

const model: JournalStep = {
  type: "model",
  text: unicode,
  toolCalls: [{ id: "call_1", name: "read", arguments: { path: unicode, deep: [1, null, { a: [] }] } }],
  usage: { inputTokens: 3, outputTokens: 4 }
}
const tool = (id: string): JournalStep => ({
  type: "tool",
  result: { id, name: "read", result: [0.5, "x", null, {}], isError: true, durationMs: 12 }
})

const stepsOf = ({ finished }: Journal) =>
  Array.from(finished.entries())
    .sort(([a], [b]) => a - b)
    .map(([, step]) => step)

/** A run that `worker` has claimed, after what other tests left was taken out of the way. */
const subject = Effect.gen(function* () {
  const runs = yield* RunRepo
  const journal = yield* RunJournal
  yield* runs.claim({ worker: "sweeper", limit: 10_000, leaseMillis: 60 * minute })
  const { id } = yield* makeRun(yield* makeWorkspace)
  const [a, b] = [`a of ${id}`, `b of ${id}`]
  const claim = (worker: string, leaseMillis = minute) =>
    Effect.map(runs.claim({ worker, limit: 10, leaseMillis }), (claimed) =>
      assert.deepStrictEqual(
        claimed.map((run) => run.id),
        [id]
      )
    )
  const finished = Effect.map(journal.open(id, a), stepsOf)
  return { a, b, claim, finished, id, journal, runs }
})

export const suite = (it: It) =>
  describe("RunJournal", { concurrent: false }, () => {
    it.effect("opens empty, and keeps the steps in order for the next worker", () =>
      Effect.gen(function* () {
        const { a, b, claim, id, journal } = yield* subject
        yield* claim(a, 0)
        const mine = yield* journal.open(id, a)
        assert.deepStrictEqual(stepsOf(mine), [])
        const steps = [model, tool("1"), tool("2"), model]
        for (const [index, step] of steps.entries()) assert.isTrue(yield* mine.record(index, step))
        yield* claim(b)
        const next = yield* journal.open(id, b)
        assert.deepStrictEqual(stepsOf(next), steps)
        assert.isTrue(yield* next.record(4, tool("3")))
        assert.deepStrictEqual(stepsOf(yield* journal.open(id, b)), [...steps, tool("3")])
      })
    )

    it.effect("keeps steps that finish out of order under their index", () =>
      Effect.gen(function* () {
        const { a, claim, id, journal } = yield* subject
        yield* claim(a)
        const { record } = yield* journal.open(id, a)
        assert.isTrue(yield* record(2, tool("2")))
        assert.isTrue(yield* record(0, model))
        assert.deepStrictEqual(
          new Map((yield* journal.open(id, a)).finished),
          new Map([
            [0, model],
            [2, tool("2")]
          ])
        )
      })
    )

    it.effect("writes each step once", () =>
      Effect.gen(function* () {
        const { a, claim, finished, id, journal } = yield* subject
        yield* claim(a)
        const { record } = yield* journal.open(id, a)
        yield* record(0, tool("first"))
        yield* record(0, tool("second"))
        assert.deepStrictEqual(yield* finished, [tool("first")])
      })
    )

    it.effect("keeps the journals of two runs apart", () =>
      Effect.gen(function* () {
        const one = yield* subject
        yield* one.claim(one.a)
        yield* (yield* one.journal.open(one.id, one.a)).record(0, tool("one"))
        const two = yield* subject
        yield* two.claim(two.a)
        yield* (yield* two.journal.open(two.id, two.a)).record(0, tool("two"))
        assert.deepStrictEqual(yield* one.finished, [tool("one")])
        assert.deepStrictEqual(yield* two.finished, [tool("two")])
      })
    )

    it.effect("takes no step of a worker whose run another has taken", () =>
      Effect.gen(function* () {
        const { a, b, claim, finished, id, journal } = yield* subject
        yield* claim(a, 0)
        const lost = yield* journal.open(id, a)
        yield* lost.record(0, tool("a"))
        yield* claim(b)
        assert.isFalse(yield* lost.record(1, tool("late")))
        assert.deepStrictEqual(yield* finished, [tool("a")])
        assert.isTrue(yield* (yield* journal.open(id, b)).record(1, tool("b")))
        assert.deepStrictEqual(yield* finished, [tool("a"), tool("b")])
      })
    )

    it.effect("takes no step of a run that was never claimed, is over, or was released", () =>
      Effect.gen(function* () {
        const { a, claim, finished, id, journal, runs } = yield* subject
        const { record } = yield* journal.open(id, a)
        assert.isFalse(yield* record(0, tool("unclaimed")))
        yield* claim(a)
        yield* runs.release(a)
        assert.isFalse(yield* record(0, tool("released")))
        yield* claim(a)
        yield* runs.finish(id, a, { status: "FAILED", error: "No", usage: noUsage }, at())
        assert.isFalse(yield* record(0, tool("over")))
        assert.deepStrictEqual(yield* finished, [])
      })
    )
  })
