import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { TestClock } from "effect/testing"
import { type Database, start } from "../../../src/Layers/Repo/Postgres/Embedded/upkeep.ts"
import type { TableState } from "../../../src/Schemas/DatabaseUpkeep.ts"
import { makeLog } from "../../support/Log.ts"

const mebibyte = 1024 * 1024
const minute = 60_000

const table = (name: string, given: Partial<TableState> = {}): TableState => ({
  name,
  toast: false,
  live: 0,
  dead: 0,
  modified: 0,
  bytes: 0,
  known: true,
  age: 0,
  ...given
})

const gone = new SqlError({ reason: new ConnectionError({ cause: new Error("gone"), message: "gone" }) })

/** A database of which the test says what happens to it, and that notes when it is looked after. */
const makeDatabase = (given: { wal?: number; redo?: number; isRecovered?: boolean } = {}) => {
  const state = {
    wal: given.wal ?? 0,
    quiet: true,
    tables: [] as ReadonlyArray<TableState>,
    broken: new Set<string>(),
    takes: 0
  }
  const done: Array<readonly [seconds: number, what: string]> = []
  const note = (what: string) =>
    Effect.gen(function* () {
      done.push([(yield* Clock.currentTimeMillis) / 1000, what])
      yield* Effect.sleep(state.takes)
      if (state.broken.has(what)) return yield* gone
    })
  const database: Database = {
    isRecovered: () => given.isRecovered ?? false,
    position: Effect.succeed({ wal: state.wal, redo: given.redo ?? state.wal }),
    wal: () => state.wal,
    quietMillis: () => (state.quiet ? 100 : 99),
    checkpoint: note("checkpoint"),
    tables: Effect.suspend(() => Effect.as(note("look"), state.tables)),
    work: ({ analyze, name, vacuum }) =>
      Effect.suspend(() => {
        state.tables = state.tables.map((one) =>
          one.name === name && !state.broken.has(name) ? table(name) : one
        )
        return note(
          state.broken.has(name) ? name : `${vacuum ? "vacuum " : ""}${analyze ? "analyze " : ""}${name}`
        )
      })
  }
  const what = (wanted: string) => done.filter(([, what]) => what.includes(wanted)).map(([at]) => at)
  return { state, done, what, start: start(database) }
}

describe("The upkeep of the embedded database", () => {
  it.effect("makes no checkpoint where nothing is written, and one 5 minutes after the last write", () =>
    Effect.gen(function* () {
      const { start, state, what } = makeDatabase()
      yield* start
      yield* TestClock.adjust(60 * minute)
      assert.deepStrictEqual(what("checkpoint"), [])
      state.wal += 8192
      yield* TestClock.adjust(4 * minute)
      state.wal += 8192
      yield* TestClock.adjust(60 * minute)
      assert.deepStrictEqual(what("checkpoint"), [(60 + 4 + 5) * 60 + 0.5])
    })
  )

  it.effect("makes a checkpoint of 32 MB in a quiet moment, and of 64 MB in any", () =>
    Effect.gen(function* () {
      const { start, state, what } = makeDatabase()
      state.quiet = false
      yield* start
      state.wal += 40 * mebibyte
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(what("checkpoint"), [])
      state.quiet = true
      yield* TestClock.adjust(500)
      assert.strictEqual(what("checkpoint").length, 1)
      state.quiet = false
      state.wal += 63 * mebibyte
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(what("checkpoint").length, 1)
      state.wal += mebibyte
      yield* TestClock.adjust(500)
      assert.strictEqual(what("checkpoint").length, 2)
    })
  )

  it.effect("vacuums after a crash before it begins, for a second, and nothing that is large", () =>
    Effect.gen(function* () {
      const { done, start, state } = makeDatabase({ isRecovered: true })
      const left = { known: false, bytes: 512 * mebibyte }
      state.takes = 400
      state.quiet = false
      state.tables = [
        table("small", { known: false, bytes: mebibyte - 1 }),
        table("large", { ...left, bytes: left.bytes + 1 }),
        ...["a", "b", "c"].map((name) => table(name, left))
      ]
      const starting = yield* Effect.forkChild(start, { startImmediately: true })
      yield* TestClock.adjust("1100 millis")
      assert.isUndefined(starting.pollUnsafe())
      yield* TestClock.adjust("100 millis")
      assert.isDefined(starting.pollUnsafe())
      assert.deepStrictEqual(done, [
        [0, "look"],
        [0.4, "vacuum a"],
        [0.8, "vacuum b"]
      ])
    })
  )

  it.effect("counts what was written before it began", () =>
    Effect.gen(function* () {
      const { start, what } = makeDatabase({ wal: 100 * mebibyte, redo: 30 * mebibyte })
      yield* start
      yield* TestClock.adjust(500)
      assert.strictEqual(what("checkpoint").length, 1)
    })
  )

  it.effect("vacuums one table after the other in quiet moments, and those at once that are overdue", () =>
    Effect.gen(function* () {
      const { done, start, state, what } = makeDatabase()
      state.quiet = false
      state.tables = [
        table("a", { dead: 300 }),
        table("b", { dead: 500, modified: 1000 }),
        table("c", { modified: 600 })
      ]
      yield* start
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(done, [])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(done, [
        [30, "look"],
        [30, "vacuum analyze b"]
      ])
      state.quiet = true
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(done.slice(2), [
        [39.5, "vacuum a"],
        [40, "analyze c"]
      ])
      // Nothing was written since: there is nothing to look for.
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(what("look"), [30])
      state.wal += 8192
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(what("look").length, 2)
    })
  )

  it.effect("looks sooner the more is written, and leaves none of what is overdue", () =>
    Effect.gen(function* () {
      const { done, start, state } = makeDatabase()
      state.quiet = false
      yield* start
      yield* TestClock.adjust("1 second")
      state.tables = [table("a", { dead: 500 }), table("b", { dead: 500 })]
      state.wal += 8 * mebibyte
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(done, [
        [1.5, "look"],
        [1.5, "vacuum a"],
        [1.5, "vacuum b"]
      ])
    })
  )

  it.effect("looks again while it waits for a quiet moment", () =>
    Effect.gen(function* () {
      const { start, state, what } = makeDatabase()
      state.quiet = false
      state.tables = [table("a", { dead: 300 })]
      yield* start
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(what("vacuum"), [])
      state.tables = [table("a", { dead: 500 })]
      state.wal += 8192
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(what("vacuum a").length, 1)
    })
  )

  it.effect("goes on when something fails, and leaves that table alone for an hour", () =>
    Effect.gen(function* () {
      const { done, start, state, what } = makeDatabase()
      state.tables = [table("a", { dead: 500 }), table("b", { dead: 500 })]
      state.broken.add("a").add("checkpoint")
      yield* start
      state.wal += 64 * mebibyte
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(what("checkpoint").length, 2)
      state.broken.delete("checkpoint")
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(what("vacuum b").length, 1)
      const tries = () => done.filter(([, what]) => what === "a").length
      assert.strictEqual(tries(), 1)
      state.broken.delete("a")
      const written = Effect.andThen(
        Effect.sync(() => {
          state.wal += 8192
        }),
        TestClock.adjust("10 seconds")
      )
      yield* Effect.replicateEffect(written, 59 * 6 - 3)
      assert.deepStrictEqual(what("vacuum a"), [])
      yield* Effect.replicateEffect(written, 12)
      assert.strictEqual(what("vacuum a").length, 1)
    })
  )

  it.effect("tells how long what took, in the log of everybody where nobody was answered for a second", () =>
    Effect.gen(function* () {
      const log = makeLog()
      const { start, state } = makeDatabase()
      state.takes = 999
      yield* Effect.provide(start, log.layer)
      state.wal += 64 * mebibyte
      yield* TestClock.adjust("5 seconds")
      state.takes = 1_000
      state.wal += 65 * mebibyte
      yield* TestClock.adjust("5 seconds")
      const message = "a checkpoint was made"
      assert.deepStrictEqual(log.facts(), [
        { level: "DEBUG", message, walMb: 64, durationMs: 999 },
        { level: "INFO", message, walMb: 65, durationMs: 1000 }
      ])
    })
  )
})
