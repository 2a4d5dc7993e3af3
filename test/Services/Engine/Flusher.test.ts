import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { nothingTold, type RunEvent } from "../../../src/Schemas/RunEvent.ts"
import * as ExecutionLog from "../../../src/Services/Engine/ExecutionLog.ts"
import * as Flusher from "../../../src/Services/Engine/Flusher.ts"
import type { Appended, EventWrite } from "../../../src/Services/RunEventRepo.ts"
import { withinOneMilli } from "../../support/Engine.ts"

const says = (delta: string): RunEvent => ({ event: "status", data: { status: "responding", delta } })
const away = new Unavailable({ error: "away" })
const never = () => Effect.die(new Error("not asked in this test"))

/** What became of each run in a statement that is answered. */
type Answer = (writes: ReadonlyArray<EventWrite>) => Effect.Effect<ReadonlyArray<Appended>, Unavailable>

const allKept: Answer = (writes) => Effect.succeed(writes.map(() => "kept"))

/** Executions of one node, over a store that answers as the test says; `statements` are the runs of each. */
const subject = Effect.fnUntraced(function* (count: number) {
  const statements: Array<ReadonlyArray<string>> = []
  const signals: Array<ReadonlyArray<string>> = []
  const watched = new Set<string>()
  const store = { answer: allKept }
  const append: Answer = (writes) =>
    Effect.suspend(() => {
      statements.push(writes.map(({ execution }) => execution.id))
      return store.answer(writes)
    })
  const flusher = yield* Flusher.make({
    events: { append },
    isWatched: (id) => Effect.sync(() => watched.has(id)),
    kept: (ids) => Effect.sync(() => void signals.push(ids))
  })
  const open = Effect.fnUntraced(function* (n: number) {
    const log = yield* ExecutionLog.open({
      execution: { id: `run_${n}` as RunId, worker: "node", epoch: 1 },
      told: nothingTold,
      flusher,
      events: { truncate: never },
      journals: { steps: never, progress: never, times: never, record: never },
      listen: () => Effect.void,
      kept: Effect.void
    })
    yield* Effect.forkScoped(log.flushing)
    return log
  })
  const logs = yield* Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    open
  )
  // They all flush.
  yield* TestClock.adjust(0)
  const say = (...given: ReadonlyArray<number>) =>
    Effect.forEach(given, (n) => (logs[n] ?? assert.fail()).emit(says(`${n}`)), { discard: true })
  const allSay = say(...logs.keys())
  return { allSay, logs, say, signals, statements, store, watched }
})

describe("The flusher of a node", () => {
  it.effect("keeps what all executions told in one statement every 250 ms", () =>
    Effect.gen(function* () {
      const { allSay, signals, statements } = yield* subject(50)
      for (let n = 0; n < 40; n++) {
        yield* allSay
        yield* TestClock.adjust(50)
      }
      assert.isAtMost(statements.length, 8)
      assert.isAtLeast(statements.length, 7)
      for (const runs of statements) assert.strictEqual(runs.length, 50)
      assert.strictEqual(signals.length, statements.length, "and says so once")
      yield* TestClock.adjust("1 second")
      const all = statements.length
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(statements.length, all, "where nobody tells anything, nothing is written")
    })
  )

  it.effect("writes no more than has room in a statement, and the rest with the next", () =>
    Effect.gen(function* () {
      const { allSay, logs, statements } = yield* subject(1_200)
      yield* allSay
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(
        statements.map((runs) => runs.length),
        [500, 500, 200]
      )
      statements.length = 0
      for (const log of logs.slice(0, 5)) yield* log.emit(says("x".repeat(400_000)))
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(
        statements.map((runs) => runs.length),
        [3, 2]
      )
    })
  )

  it.effect("finds by halves what can't be stored: it holds up no other, and is written alone", () =>
    Effect.gen(function* () {
      const { allSay, say, signals, statements, store } = yield* subject(8)
      store.answer = (writes) =>
        writes.some(({ execution }) => execution.id === "run_5")
          ? Effect.die(new Error("it can't be stored"))
          : allKept(writes)
      yield* allSay
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(signals.flat().sort(), [0, 1, 2, 3, 4, 6, 7].map((n) => `run_${n}`).sort())
      statements.length = 0
      yield* say(4, 6)
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(
        statements.map((runs) => runs.join(" ")).sort(),
        ["run_4 run_6", "run_5"],
        "it costs the others nothing more"
      )
      store.answer = allKept
      yield* TestClock.adjust(250)
      yield* allSay
      statements.length = 0
      yield* TestClock.adjust(250)
      assert.strictEqual(statements.length, 1)
    })
  )

  it.effect("leaves out who has lost its run, and nobody else", () =>
    Effect.gen(function* () {
      const { allSay, signals, statements, store } = yield* subject(3)
      store.answer = (writes) =>
        Effect.succeed(writes.map(({ execution }) => (execution.id === "run_1" ? "lost" : "kept")))
      yield* allSay
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(signals, [["run_0", "run_2"]])
      yield* allSay
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(statements.at(-1), ["run_0", "run_2"])
    })
  )

  it.effect("passes by whose row is held, and tries that soon", () =>
    Effect.gen(function* () {
      const { allSay, signals, statements, store } = yield* subject(3)
      store.answer = (writes) =>
        Effect.succeed(writes.map(({ execution }) => (execution.id === "run_1" ? "busy" : "kept")))
      yield* allSay
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(signals, [["run_0", "run_2"]])
      yield* withinOneMilli
      assert.deepStrictEqual(statements.slice(1), [["run_1"]])
      yield* TestClock.adjust(200)
      assert.strictEqual(statements.length, 2, "once")
      store.answer = allKept
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(signals.at(-1), ["run_1"])
    })
  )

  it.effect("writes at once what those tell first that somebody watches, together", () =>
    Effect.gen(function* () {
      const { allSay, statements, watched } = yield* subject(4)
      for (const id of ["run_1", "run_3"]) watched.add(id)
      yield* allSay
      yield* withinOneMilli
      assert.deepStrictEqual(statements, [["run_1", "run_3"]])
      yield* allSay
      yield* TestClock.adjust(249)
      assert.deepStrictEqual(statements.slice(1), [["run_0", "run_1", "run_2", "run_3"]])
    })
  )

  it.effect("writes the same again where it is not known what became of it, few statements at a time", () =>
    Effect.gen(function* () {
      const { allSay, logs, statements, store } = yield* subject(3_000)
      const gate = yield* Deferred.make<void>()
      store.answer = () => Effect.andThen(Deferred.await(gate), away)
      yield* allSay
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(statements.length, 4, "none of them is answered")
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("10 seconds")
      assert.isAtMost(statements.length, 4 * 42, "nobody asks on where the store is away")
      const ids: Array<number> = []
      store.answer = (writes) =>
        Effect.sync(() => {
          for (const { batches } of writes) ids.push(...batches.flat().map(({ id }) => id))
          return writes.map(() => "kept" as const)
        })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ids, new Array(logs.length).fill(1))
    })
  )
})
