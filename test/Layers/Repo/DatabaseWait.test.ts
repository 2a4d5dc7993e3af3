import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { Database, layerTransaction } from "../../../src/Layers/Repo/Postgres/Database.ts"
import * as DatabaseWait from "../../../src/Services/DatabaseWait.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"

const limitMillis = 1_000

/** A client whose transactions only run their body. */
const client = { withTransaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => effect }

const layer = layerTransaction.pipe(
  Layer.provideMerge(Database.layer),
  Layer.provide(Layer.succeed(PgClient, client as unknown as PgClient)),
  Layer.provide(Layer.succeed(Settings, { ...Settings.defaults, databaseTimeoutMillis: limitMillis }))
)

/** A call that the database answers after so long. */
const call = (millis: number) => Effect.flatMap(Database, ({ query }) => query(Effect.sleep(millis)))

const together = (...calls: ReadonlyArray<number>) => Effect.forEach(calls, call, { discard: true })

/** How it ended, and after how long. */
const outcome = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const since = yield* Clock.currentTimeMillis
  const timed = Effect.result(effect).pipe(
    Effect.flatMap(({ _tag }) => Effect.map(Clock.currentTimeMillis, (at) => [_tag, at - since]))
  )
  const fiber = yield* Effect.forkChild(timed, { startImmediately: true })
  yield* TestClock.adjust("1 hour")
  return yield* Fiber.join(fiber)
})

describe("The limit of time for the database", () => {
  it.effect("is each call's own where they do not belong together", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outcome(together(900, 900, 900)), ["Success", 2_700])
      assert.deepStrictEqual(yield* outcome(together(900, 1_100)), ["Failure", 1_900])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is shared by those that do, and each of them has what is left of it", () =>
    Effect.gen(function* () {
      const outcomeOf = (...calls: ReadonlyArray<number>) =>
        outcome(DatabaseWait.together(together(...calls)))
      assert.deepStrictEqual(yield* outcomeOf(300, 300, 300), ["Success", 900])
      assert.deepStrictEqual(yield* outcomeOf(600, 600), ["Failure", 1_000])
      assert.deepStrictEqual(yield* outcomeOf(300, 5_000), ["Failure", 1_000])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is used up for good: what is called then is not even begun", () =>
    Effect.gen(function* () {
      let begun = 0
      const late = Effect.flatMap(Database, ({ query }) => query(Effect.sync(() => begun++)))
      const trying = Effect.andThen(Effect.ignore(call(5_000)), late)
      assert.deepStrictEqual(yield* outcome(DatabaseWait.together(trying)), ["Failure", 1_000])
      assert.strictEqual(begun, 0)
    }).pipe(Effect.provide(layer))
  )

  it.effect("counts what waits at the same time once, and nothing else that takes time", () =>
    Effect.gen(function* () {
      const both = Effect.all([call(600), call(500)], { concurrency: 2 })
      const between = Effect.andThen(both, Effect.sleep("10 minutes"))
      const withRest = (millis: number) =>
        outcome(DatabaseWait.together(Effect.andThen(between, call(millis))))
      assert.deepStrictEqual(yield* withRest(300), ["Success", 600_900])
      assert.deepStrictEqual(yield* withRest(500), ["Failure", 601_000])
    }).pipe(Effect.provide(layer))
  )

  it.effect("holds for a transaction with all that is called in it", () =>
    Effect.gen(function* () {
      const { atomically } = yield* Transaction
      const inOne = atomically(together(600, 300))
      assert.deepStrictEqual(yield* outcome(inOne), ["Success", 900])
      assert.deepStrictEqual(yield* outcome(atomically(together(600, 600))), ["Failure", 1_000])
      const after = DatabaseWait.together(Effect.andThen(call(200), inOne))
      assert.deepStrictEqual(yield* outcome(after), ["Failure", 1_000])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is that of each call again when what they belonged to is over, or apart from it", () =>
    Effect.gen(function* () {
      const goOn = yield* Deferred.make<void>()
      const late = Effect.andThen(Deferred.await(goOn), together(900, 900))
      const lasting = yield* DatabaseWait.together(
        Effect.andThen(call(900), Effect.forkDetach(Effect.result(late), { startImmediately: true }))
      ).pipe(Effect.forkChild({ startImmediately: true }))
      yield* TestClock.adjust(900)
      const fiber = yield* Fiber.join(lasting)
      yield* Deferred.succeed(goOn, undefined)
      yield* TestClock.adjust(1_800)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Success")
      const apart = DatabaseWait.together(Effect.andThen(call(900), DatabaseWait.apart(together(900, 900))))
      assert.deepStrictEqual(yield* outcome(apart), ["Success", 2_700])
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not wait for what can't be interrupted", () =>
    Effect.gen(function* () {
      const stuck = Effect.flatMap(Database, ({ query }) =>
        query(Effect.uninterruptible(Effect.sleep(9_000)))
      )
      assert.deepStrictEqual(yield* outcome(Effect.uninterruptible(stuck)), ["Failure", 1_000])
    }).pipe(Effect.provide(layer))
  )
})
