import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import { type EventBatch, emptyLog, type LogState, type RunEvent } from "../../src/Schemas/RunEvent.ts"
import * as EventLog from "../../src/Services/EventLog.ts"

const thinking: RunEvent = { event: "status", data: { status: "thinking" } }
const says = (delta: string): RunEvent => ({ event: "status", data: { status: "responding", delta } })
const call: RunEvent = { event: "tool_call", data: { id: "c", name: "t", arguments: {} } }
const away = new Unavailable({ error: "away" })

const idsOf = (batches: ReadonlyArray<EventBatch>) => batches.map((batch) => batch.map(({ id }) => id))

const subject = Effect.fnUntraced(function* (state: LogState = emptyLog) {
  const appended: Array<ReadonlyArray<ReadonlyArray<number>>> = []
  const told: Array<number> = []
  const store = { fails: false, isRead: false }
  let kept = 0
  const log = yield* EventLog.make({
    state,
    append: (batches) =>
      Effect.suspend(() => {
        if (store.fails) return Effect.fail(away)
        appended.push(idsOf(batches))
        return Effect.succeed(true)
      }),
    listen: ({ id }) => Effect.sync(() => void told.push(id)),
    kept: Effect.sync(() => void kept++),
    isRead: Effect.sync(() => store.isRead)
  })
  yield* Effect.forkChild(log.flushing)
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
  return { appended, keeps: () => kept, log, rest, store, told }
})

describe("EventLog", () => {
  it.effect("tells at once, and writes once in 250 ms", () =>
    Effect.gen(function* () {
      const { appended, log, told } = yield* subject()
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
      for (const delta of ["a", "b", "c"]) yield* log.emit(says(delta))
      assert.deepStrictEqual(told, [1, 2, 3])
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

  it.effect("writes what comes first at once if somebody reads elsewhere", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      store.isRead = true
      yield* log.emit(says("a"))
      yield* TestClock.adjust(0)
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
      const { log, told } = yield* subject()
      yield* log.emit(says("a"))
      const refused = log.write(
        () => Effect.sync(() => assert.deepStrictEqual(told, [1])).pipe(Effect.as(false)),
        [says("b")]
      )
      assert.isFalse(yield* refused)
      assert.deepStrictEqual(told, [1])
      const kept = yield* log.write(
        (batches) =>
          Effect.sync(() => {
            assert.deepStrictEqual(idsOf(batches).at(-1), [3])
            return true
          }),
        [says("c")]
      )
      assert.isTrue(kept)
      assert.deepStrictEqual(told, [1, 3])
    })
  )

  it.effect("keeps nothing of what comes last when that can't be stored", () =>
    Effect.gen(function* () {
      const { log, rest, told } = yield* subject()
      yield* log.emit(says("a"))
      const broken = log.write(() => Effect.die(new Error("it can't be stored")), [says("b")])
      yield* Effect.exit(broken)
      assert.deepStrictEqual(yield* rest, [[1]])
      assert.deepStrictEqual(told, [1])
    })
  )

  it.effect("takes back an answer that is asked for again, kept or not, and uses no id twice", () =>
    Effect.gen(function* () {
      const { log, rest, told } = yield* subject()
      yield* log.emit(thinking)
      yield* log.emit(call)
      yield* log.emit(thinking)
      yield* log.emit(says("lost"))
      const truncated: Array<number> = []
      const truncate = (from: number) => Effect.sync(() => truncated.push(from) > 0)
      assert.isTrue(yield* log.restart(2, truncate))
      assert.deepStrictEqual(truncated, [])
      assert.isTrue(yield* log.restart(1, truncate))
      assert.deepStrictEqual(truncated, [3])
      yield* log.emit(thinking)
      yield* log.emit(call)
      assert.deepStrictEqual(yield* rest, [[1, 2], [5]])
      assert.deepStrictEqual(told, [1, 2, 3, 4, 5])
      assert.isFalse(yield* log.restart(0, () => Effect.succeed(false)))
    })
  )

  it.effect("forgets what can't be kept", () =>
    Effect.gen(function* () {
      const { log, rest, told } = yield* subject({ ...emptyLog, lastId: 7 })
      yield* log.emit(says("a"))
      yield* log.discard
      assert.deepStrictEqual(yield* rest, [])
      yield* log.tellEnd({ event: "error", data: { error: "e", code: "c" } })
      assert.deepStrictEqual(told, [8, 9])
      assert.deepStrictEqual(yield* rest, [])
    })
  )
})
