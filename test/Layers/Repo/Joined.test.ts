import type { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import { TestClock } from "effect/testing"
import type { Database } from "../../../src/Layers/Repo/Postgres/Database.ts"
import * as Joined from "../../../src/Layers/Repo/Postgres/Joined.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"

class Within extends Context.Service<Within, true>()("test/Within") {}

const database = {
  sql: { transactionService: Within } as unknown as PgClient,
  query: (effect: Effect.Effect<unknown, unknown>) => effect
} as unknown as Database["Service"]

type Answers = Effect.Effect<ReadonlyArray<string | undefined>, Unavailable>

/** Batches as they come, each of which waits until it is told what comes of it. */
const makeJoined = (options: { readonly keyOf?: (item: string) => string } = {}) =>
  Effect.gen(function* () {
    const batches: Array<ReadonlyArray<string>> = []
    const ends: Array<Deferred.Deferred<Answers>> = []
    const ask = yield* Joined.make<string, string>(database, {
      ...options,
      lengthOf: (item) => item.length,
      together: (items) =>
        Effect.suspend(() => {
          const end = Deferred.makeUnsafe<Answers>()
          batches.push(items)
          ends.push(end)
          return Effect.flatten(Deferred.await(end))
        }),
      alone: (item) => Effect.succeed(`${item} alone`)
    })
    const begin = (item: string) =>
      Effect.tap(Effect.forkChild(ask(item), { startImmediately: true }), TestClock.adjust(0))
    const end = (n: number, answers: Answers) =>
      Effect.andThen(Deferred.succeed(ends[n] ?? assert.fail(), answers), TestClock.adjust(0))
    return { ask, batches, begin, end }
  })

describe("What goes together", () => {
  it.effect("begins at once where nothing is under way, and takes along what comes meanwhile", () =>
    Effect.gen(function* () {
      const { batches, begin, end } = yield* makeJoined()
      const a = yield* begin("a")
      assert.deepStrictEqual(batches, [["a"]])
      const [b, c] = [yield* begin("b"), yield* begin("c")]
      assert.deepStrictEqual(batches, [["a"]])
      yield* end(0, Effect.succeed(["A"]))
      assert.deepStrictEqual(batches, [["a"], ["b", "c"]])
      yield* end(1, Effect.succeed(["B", "C"]))
      assert.deepStrictEqual(yield* Fiber.joinAll([a, b, c]), ["A", "B", "C"])
      yield* begin("d")
      assert.deepStrictEqual(batches.at(-1), ["d"])
    }).pipe(Effect.scoped)
  )

  it.effect("asks alone for what got no answer, for all of a batch that broke, and for what is long", () =>
    Effect.gen(function* () {
      const { ask, batches, begin, end } = yield* makeJoined()
      const a = yield* begin("a")
      const [b, c] = [yield* begin("b"), yield* begin("c")]
      yield* end(0, Effect.die(new Error("broken")))
      yield* end(1, Effect.succeed(["B", undefined]))
      assert.deepStrictEqual(yield* Fiber.joinAll([a, b, c]), ["a alone", "B", "c alone"])
      const long = "l".repeat(100_000)
      assert.strictEqual(yield* ask(long), `${long} alone`)
      assert.strictEqual(yield* Effect.provideService(ask("w"), Within, true), "w alone")
      assert.strictEqual(batches.length, 2)
    }).pipe(Effect.scoped)
  )

  it.effect("tells all that wait that the database is away, and goes on with those that come later", () =>
    Effect.gen(function* () {
      const { batches, begin, end } = yield* makeJoined()
      const [a, b] = [yield* begin("a"), yield* begin("b")]
      yield* end(0, Effect.fail(new Unavailable({ error: "away" })))
      for (const fiber of [a, b]) {
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber)))._tag, "Unavailable")
      }
      const c = yield* begin("c")
      yield* end(1, Effect.succeed(["C"]))
      assert.strictEqual(yield* Fiber.join(c), "C")
      assert.deepStrictEqual(batches, [["a"], ["c"]])
    }).pipe(Effect.scoped)
  )

  it.effect("leaves out who does not wait any more, and keeps those of other keys apart", () =>
    Effect.gen(function* () {
      const { batches, begin, end } = yield* makeJoined({ keyOf: ([first = ""]) => first })
      yield* begin("a1")
      const gone = yield* begin("a2")
      yield* begin("a3")
      yield* begin("b1")
      yield* Fiber.interrupt(gone)
      assert.deepStrictEqual(batches, [["a1"], ["b1"]])
      yield* end(0, Effect.succeed(["A"]))
      assert.deepStrictEqual(batches, [["a1"], ["b1"], ["a3"]])
    }).pipe(Effect.scoped)
  )

  it.effect("leaves nobody behind who comes while it ends, wherever its fiber pauses", () =>
    Effect.gen(function* () {
      const ask = yield* Joined.make<number, number>(database, {
        together: (items) => Effect.as(Effect.yieldNow, items),
        alone: Effect.succeed
      })
      const askOften = (item: number) =>
        Effect.repeat(Effect.andThen(Effect.yieldNow, ask(item)), { times: 200 })
      const asking = Effect.forEach([1, 2, 3, 4, 5], askOften, { concurrency: "unbounded", discard: true })
      const fiber = yield* Effect.forkChild(asking)
      for (let turn = 0; turn < 20_000 && fiber.pollUnsafe() === undefined; turn++) yield* Effect.yieldNow
      assert.isDefined(fiber.pollUnsafe())
    }).pipe(Effect.scoped, Effect.provideService(Scheduler.MaxOpsBeforeYield, 7))
  )
})
