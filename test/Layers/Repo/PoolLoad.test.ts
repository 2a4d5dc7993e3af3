import type { PgConnection } from "@effect/sql-pg/PgConnection"
import type { PgPool } from "@effect/sql-pg/PgPool"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as PoolLoad from "../../../src/Layers/Repo/Postgres/PoolLoad.ts"

const session = {} as PgConnection

/** Sessions that are as many as there are permits; as a pool gives them. */
const makePool = (size: number): Pick<PgPool, "get" | "use"> => {
  const places = Semaphore.makeUnsafe(size)
  return {
    get: Effect.as(
      Effect.acquireRelease(places.take(1), () => places.release(1), { interruptible: true }),
      session
    ),
    use: (work) => places.withPermit(Effect.suspend(() => work(session)))
  }
}

const load = Effect.map(Metric.snapshot, (found) =>
  ["database_pool_in_use", "database_pool_waiting", "database_pool_size"].map((name) => {
    const state = found.find(({ id }) => id === name)?.state
    return state !== undefined && "value" in state ? Number(state.value) : undefined
  })
)

const settle = Effect.replicateEffect(Effect.yieldNow, 20)

describe("the load of a pool", () => {
  it.effect("is who uses a session and who waits for one, also where somebody is interrupted or fails", () =>
    Effect.gen(function* () {
      const pool = yield* PoolLoad.make(makePool(2), { size: 2, name: "work" })
      assert.deepStrictEqual(yield* load, [0, 0, 2])
      const gate = yield* Latch.make(false)
      const held = yield* Scope.make()
      yield* Scope.provide(pool.get, held)
      assert.deepStrictEqual(yield* load, [1, 0, 2])
      const using = yield* Effect.forkChild(pool.use(() => gate.await))
      yield* settle
      assert.deepStrictEqual(yield* load, [2, 0, 2])
      const failing = yield* Effect.forkChild(pool.use(() => Effect.fail("no" as const)))
      const waiting = yield* Effect.forkChild(pool.use(() => Effect.void))
      const acquiring = yield* Effect.forkChild(Effect.scoped(pool.get))
      yield* settle
      assert.deepStrictEqual(yield* load, [2, 3, 2])
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(acquiring)
      assert.deepStrictEqual(yield* load, [2, 1, 2])
      yield* Scope.close(held, Exit.void)
      assert.strictEqual(yield* Effect.flip(Fiber.join(failing)), "no")
      assert.deepStrictEqual(yield* load, [1, 0, 2])
      yield* Fiber.interrupt(using)
      assert.deepStrictEqual(yield* load, [0, 0, 2])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("is shown as long as the pool is there", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(PoolLoad.make(makePool(3), { size: 3, name: "lists" }))
      assert.deepStrictEqual(yield* load, [undefined, undefined, undefined])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("counts a session that is shared once, while anybody uses it", () =>
    Effect.gen(function* () {
      const pool = yield* PoolLoad.make(makePool(1), { size: 3, name: "lists", shared: makePool(2) })
      const gate = yield* Latch.make(false)
      const use = Effect.forkChild(pool.share(() => gate.await))
      const [one, other, waiting] = [yield* use, yield* use, yield* use]
      yield* settle
      assert.deepStrictEqual(yield* load, [1, 1, 3])
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(one)
      assert.deepStrictEqual(yield* load, [1, 0, 3])
      yield* Fiber.interrupt(other)
      assert.deepStrictEqual(yield* load, [0, 0, 3])
    })
  )
})
