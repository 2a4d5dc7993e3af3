import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import {
  type EventBatch,
  nothingTold,
  type RunEvent,
  type Told,
  tell
} from "../../../src/Schemas/RunEvent.ts"
import * as ExecutionLog from "../../../src/Services/Engine/ExecutionLog.ts"
import * as Flusher from "../../../src/Services/Engine/Flusher.ts"

const thinking: RunEvent = { event: "status", data: { status: "thinking" } }
const says = (delta: string): RunEvent => ({ event: "status", data: { status: "responding", delta } })
const call: RunEvent = { event: "tool_call", data: { id: "c", name: "t", arguments: {} } }
const asked: JournalStep = {
  type: "model",
  text: "",
  toolCalls: [],
  usage: { inputTokens: 3, outputTokens: 4 }
}
const away = new Unavailable({ error: "away" })

const idsOf = (batches: ReadonlyArray<EventBatch>) => batches.map((batch) => batch.map(({ id }) => id))

const never = () => Effect.die(new Error("not asked in this test"))

const subject = Effect.fnUntraced(function* (told: Told = nothingTold) {
  const appended: Array<ReadonlyArray<ReadonlyArray<number>>> = []
  const heard: Array<number> = []
  const truncated: Array<readonly [number, number]> = []
  const store = { fails: false, isWatched: false, isOurs: true }
  let kept = 0
  const id = "run_1" as RunId
  const flusher = yield* Flusher.make({
    events: {
      append: (writes) =>
        Effect.suspend(() => {
          if (store.fails) return Effect.fail(away)
          if (store.isOurs) for (const { batches } of writes) appended.push(idsOf(batches))
          return Effect.succeed(writes.map(() => (store.isOurs ? "kept" : "lost")))
        })
    },
    kept: () => Effect.void,
    isWatched: () => Effect.sync(() => store.isWatched)
  })
  const log = yield* ExecutionLog.open({
    execution: { id, worker: "node", epoch: 1 },
    told,
    flusher,
    events: {
      truncate: (_, from, to) =>
        Effect.sync(() => {
          truncated.push([from, to])
          return store.isOurs
        })
    },
    journals: {
      steps: never,
      progress: never,
      record: (_execution, _index, _step, batches = []) =>
        Effect.sync(() => {
          appended.push(idsOf(batches))
          return store.isOurs
        })
    },
    listen: ({ id }) => Effect.sync(() => void heard.push(id)),
    kept: Effect.sync(() => void kept++)
  })
  const flushing = yield* Effect.forkChild(log.flushing)
  /** What the next write takes with it. */
  const rest = Effect.gen(function* () {
    let taken: ReadonlyArray<ReadonlyArray<number>> = []
    yield* log.write((batches) =>
      Effect.sync(() => {
        taken = idsOf(batches)
        return true
      })
    )
    return taken
  })
  return { appended, flushing, keeps: () => kept, log, rest, store, heard, truncated }
})

describe("ExecutionLog", () => {
  it.effect("tells at once, and writes once in 250 ms", () =>
    Effect.gen(function* () {
      const { appended, heard, log } = yield* subject()
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
      for (const delta of ["a", "b", "c"]) yield* log.emit(says(delta))
      assert.deepStrictEqual(heard, [1, 2, 3])
      yield* TestClock.adjust(249)
      assert.deepStrictEqual(appended, [])
      yield* log.emit(says("d"))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(appended, [[[1, 2, 3, 4]]])
      yield* log.emit(says("e"))
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(appended, [[[1, 2, 3, 4]], [[5]]])
      yield* TestClock.adjust(10_000)
      assert.strictEqual(appended.length, 2)
    })
  )

  it.effect("writes what comes first at once if somebody watches elsewhere", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      store.isWatched = true
      yield* log.emit(says("a"))
      yield* Effect.replicateEffect(TestClock.adjust(0), 9)
      assert.deepStrictEqual(appended, [[[1]]])
      yield* log.emit(says("b"))
      yield* TestClock.adjust(249)
      assert.strictEqual(appended.length, 1)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(appended, [[[1]], [[2]]])
    })
  )

  it.effect("writes what waits together with something else, answers of models in batches of their own", () =>
    Effect.gen(function* () {
      const { appended, keeps, log, rest } = yield* subject()
      yield* log.emit(thinking)
      yield* log.emit(says("a"))
      yield* log.emit(call)
      yield* log.emit(call)
      yield* log.emit(thinking)
      assert.deepStrictEqual(yield* rest, [[1, 2, 3], [4]])
      assert.strictEqual(keeps(), 1)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(appended, [])
      assert.deepStrictEqual(yield* rest, [])
    })
  )

  it.effect("writes batches that may be on their way again as they were", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      store.fails = true
      yield* log.emit(says("a"))
      yield* TestClock.adjust(250)
      yield* log.emit(says("b"))
      yield* TestClock.adjust(250)
      yield* log.emit(says("c"))
      store.fails = false
      // Nothing more has to happen for it.
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(appended, [[[1], [2], [3]]])
    })
  )

  it.effect("is told when a flush finds that another executes the run, and writes nothing more", () =>
    Effect.gen(function* () {
      const { appended, flushing, log, store } = yield* subject()
      store.isOurs = false
      yield* log.emit(says("a"))
      yield* TestClock.adjust(250)
      assert.strictEqual((yield* Effect.flip(Fiber.join(flushing)))._tag, "OwnershipLost")
      store.isOurs = true
      yield* log.emit(says("b"))
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
    })
  )

  it.effect("is not written by the flusher when it does not flush any more", () =>
    Effect.gen(function* () {
      const { appended, flushing, log, rest } = yield* subject()
      yield* log.emit(says("a"))
      yield* Fiber.interrupt(flushing)
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
      assert.deepStrictEqual(yield* rest, [[1]])
    })
  )

  it.effect("lets no write overtake another", () =>
    Effect.gen(function* () {
      const { log } = yield* subject()
      const gate = yield* Deferred.make<boolean>()
      const order: Array<ReadonlyArray<ReadonlyArray<number>>> = []
      yield* log.emit(says("a"))
      const first = yield* Effect.forkChild(
        log.write((batches) => {
          order.push(idsOf(batches))
          return Deferred.await(gate)
        }),
        { startImmediately: true }
      )
      yield* log.emit(says("b"))
      const second = yield* Effect.forkChild(
        log.write((batches) => {
          order.push(idsOf(batches))
          return Effect.succeed(true)
        }),
        { startImmediately: true }
      )
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(order, [[[1]]])
      yield* Deferred.succeed(gate, true)
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.deepStrictEqual(order, [[[1]], [[2]]])
    })
  )

  it.effect("tells of what comes last when it is kept, and not if it is refused", () =>
    Effect.gen(function* () {
      const { heard, log } = yield* subject()
      yield* log.emit(says("a"))
      const refused = log.write(
        () => Effect.sync(() => assert.deepStrictEqual(heard, [1])).pipe(Effect.as(false)),
        [says("b")]
      )
      assert.strictEqual((yield* Effect.flip(refused))._tag, "OwnershipLost")
      assert.deepStrictEqual(heard, [1])
      yield* log.write(
        (batches) =>
          Effect.sync(() => {
            assert.deepStrictEqual(idsOf(batches).at(-1), [3])
            return true
          }),
        [says("c")]
      )
      assert.deepStrictEqual(heard, [1, 3])
    })
  )

  it.effect("keeps nothing of what comes last when that can't be stored", () =>
    Effect.gen(function* () {
      const { heard, log, rest } = yield* subject()
      yield* log.emit(says("a"))
      const broken = log.write(() => Effect.die(new Error("it can't be stored")), [says("b")])
      yield* Effect.exit(broken)
      assert.deepStrictEqual(yield* rest, [[1]])
      assert.deepStrictEqual(heard, [1])
    })
  )

  it.effect("tries again while the store is away, and tells of nothing before it is back", () =>
    Effect.gen(function* () {
      const { heard, log } = yield* subject()
      let tries = 0
      const parking = yield* Effect.forkChild(
        log.write(
          () => Effect.suspend(() => (++tries < 3 ? Effect.fail(away) : Effect.succeed(true))),
          [says("a")]
        )
      )
      yield* TestClock.adjust(299)
      assert.deepStrictEqual([tries, heard], [2, []])
      yield* TestClock.adjust(1)
      yield* Fiber.join(parking)
      assert.deepStrictEqual([tries, heard], [3, [1]])
    })
  )

  it.effect("keeps steps with what was told before them, and counts what they cost", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      yield* log.emit(thinking)
      yield* log.record(0, asked)
      assert.deepStrictEqual(appended, [[[1]]])
      assert.deepStrictEqual(log.usage(), { inputTokens: 3, outputTokens: 4 })
      store.isOurs = false
      assert.strictEqual((yield* Effect.flip(log.record(1, asked)))._tag, "OwnershipLost")
      assert.deepStrictEqual(log.usage(), { inputTokens: 3, outputTokens: 4 })
    })
  )

  it.effect(
    "goes on behind finished steps: takes back the answer that is asked for again, uses no id twice",
    () =>
      Effect.gen(function* () {
        const before = [thinking, call, thinking, says("lost")].reduce(
          (told, event) => tell(told, { id: told.lastId + 1, event }),
          nothingTold
        )
        const whole = yield* subject(before)
        yield* whole.log.resume(
          new Map([
            [0, asked],
            [1, asked]
          ])
        )
        assert.deepStrictEqual(whole.truncated, [])
        const { log, rest, store, truncated } = yield* subject(before)
        yield* log.resume(new Map([[0, asked]]))
        assert.deepStrictEqual(truncated, [[3, 4]])
        assert.deepStrictEqual(log.usage(), { inputTokens: 3, outputTokens: 4 })
        yield* log.emit(thinking)
        yield* log.emit(call)
        assert.deepStrictEqual(yield* rest, [[5]])
        store.isOurs = false
        assert.strictEqual((yield* Effect.flip(log.resume(new Map())))._tag, "OwnershipLost")
      })
  )

  it.effect("knows when the first text was told", () =>
    Effect.gen(function* () {
      const { log } = yield* subject()
      yield* log.emit(thinking)
      assert.isNull(log.firstTokenAt())
      yield* TestClock.adjust(5)
      yield* log.emit(says("a"))
      yield* TestClock.adjust(5)
      yield* log.emit(says("b"))
      assert.deepStrictEqual(log.firstTokenAt(), new Date(5))
    })
  )

  it.effect("forgets what can't be kept", () =>
    Effect.gen(function* () {
      const { heard, log, rest } = yield* subject({ ...nothingTold, lastId: 7 })
      yield* log.emit(says("a"))
      yield* log.discard
      assert.deepStrictEqual(yield* rest, [])
      yield* log.tellEnd({ event: "error", data: { error: "e", code: "c" } })
      assert.deepStrictEqual(heard, [8, 9])
      assert.deepStrictEqual(yield* rest, [])
    })
  )
})
