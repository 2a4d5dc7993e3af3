import { PgClient } from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Embedded from "../../../src/Layers/Repo/Postgres/Embedded.ts"
import { pause } from "../../support/Until.ts"
import { databaseFolder, makeTemplate, open, removeFolders } from "./EmbeddedFolders.ts"

beforeAll(makeTemplate)
afterAll(removeFolders)

const embedded = Layer.unwrap(Effect.map(databaseFolder, (dataDir) => Embedded.layer({ dataDir })))

layer(embedded, { excludeTestServices: true })("Embedded as a database", (it) => {
  it.effect("has the types of PostgreSQL", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const at = new Date("2026-11-20T08:00:00.123Z")
      const [row] = yield* sql`
        select ${1}::int as "int", ${2n}::int8 as "big", ${"ü😀"}::text as "text", ${at}::timestamptz as "at",
          ${sql.json({ snake_case: [1, null] })}::jsonb as "json", null::text as "nothing", true as "yes",
          array['a', 'b'] as "list", uuidv7() is not null as "hasId", current_setting('timezone') as "zone"`
      assert.deepStrictEqual(row, {
        int: 1,
        big: 2n,
        text: "ü😀",
        at,
        json: { snake_case: [1, null] },
        nothing: null,
        yes: true,
        list: ["a", "b"],
        hasId: true,
        zone: "UTC"
      })
    })
  )

  it.effect("tells which constraint was violated, and goes on", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      yield* sql`create table unique_names (name text constraint one_name unique)`
      yield* sql`insert into unique_names values ('a')`
      const error = yield* Effect.flip(sql`insert into unique_names values ('a')`)
      assert.strictEqual(error.reason._tag, "UniqueViolation")
      assert.propertyVal(error.reason, "constraint", "one_name")
      assert.deepStrictEqual(yield* sql`select count(*)::int as n from unique_names`, [{ n: 1 }])
    })
  )

  it.effect("reports a syntax error, and goes on", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const error = yield* Effect.flip(sql`selec 1`)
      assert.strictEqual(error.reason._tag, "SqlSyntaxError")
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
    })
  )

  it.effect("rolls a failed transaction back, with its savepoints", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      yield* sql`create table steps (n int)`
      const exit = yield* Effect.exit(
        sql.withTransaction(Effect.andThen(sql`insert into steps values (1)`, Effect.fail("no")))
      )
      assert.strictEqual(exit._tag, "Failure")
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`insert into steps values (2)`
          const inner = Effect.andThen(sql`insert into steps values (3)`, Effect.fail("no"))
          yield* Effect.ignore(sql.withTransaction(inner))
        })
      )
      assert.deepStrictEqual(yield* sql`select n from steps`, [{ n: 2 }])
    })
  )

  it.effect("serves many fibers at once, each transaction whole", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      yield* sql`create table counters (n int)`
      yield* sql`insert into counters values (0)`
      const increment = sql.withTransaction(
        Effect.gen(function* () {
          const [row] = yield* sql<{ n: number }>`select n from counters`
          yield* Effect.yieldNow
          yield* sql`update counters set n = ${(row?.n ?? 0) + 1}`
        })
      )
      yield* Effect.replicateEffect(increment, 50, { concurrency: "unbounded", discard: true })
      assert.deepStrictEqual(yield* sql`select n from counters`, [{ n: 50 }])
    })
  )

  it.effect("carries 5 MB in one value, in many rows, and in a parameter", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const text = "ab€d".repeat(1_000_000)
      const [value] = yield* sql<{ text: string }>`select repeat('ab€d', 1000000) as text`
      assert.isTrue(value?.text === text)
      const [echo] = yield* sql<{ text: string }>`select ${text}::text as text`
      assert.isTrue(echo?.text === text)
      const rows = yield* sql<{
        n: number
      }>`select n, repeat('x', 100) as filler from generate_series(1, 50000) n`
      assert.strictEqual(rows.length, 50_000)
      assert.strictEqual(rows[49_999]?.n, 50_000)
    })
  )

  it.effect("streams, and stops when the reader does", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const rows = sql<{ n: number }>`select n from generate_series(1, 20000) n`.stream
      assert.strictEqual(yield* Stream.runCount(rows), 20_000)
      assert.strictEqual((yield* Stream.runCollect(Stream.take(rows, 3))).length, 3)
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
    })
  )

  it.effect("leaves the event loop free while a heavy query runs", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      // It would take minutes: what turns meanwhile has not waited for its end.
      const heavy = yield* Effect.forkChild(sql`
        select sum(sqrt(a::numeric)) from generate_series(1, 100000) a, generate_series(1, 10000) b`)
      for (let turn = 0; turn < 100; turn++) yield* pause
      assert.isUndefined(heavy.pollUnsafe())
      yield* Fiber.interrupt(heavy)
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
    })
  )

  it.effect("goes on after an interrupted query", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const asleep = yield* Effect.forkChild(sql`select pg_sleep(0.3)`, { startImmediately: true })
      yield* pause
      yield* Fiber.interrupt(asleep)
      const answers = yield* Effect.forEach([1, 2, 3], (n) => sql`select ${n}::int as n`)
      assert.deepStrictEqual(answers, [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]])
    })
  )
})

describe("Embedded as a folder on disk", () => {
  it.live("keeps what was committed from one start to the next", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      yield* Effect.scoped(
        Effect.flatMap(open({ dataDir }), ({ sql }) => sql`create table kept as select 7 as n`)
      )
      const rows = yield* Effect.scoped(
        Effect.flatMap(open({ dataDir }), ({ sql }) => sql`select n from kept`)
      )
      assert.deepStrictEqual(rows, [{ n: 7 }])
    })
  )

  it.live("reaches the disk with every commit, and not with a read", () =>
    Effect.gen(function* () {
      const { engine, sql } = yield* open()
      yield* sql`create table noted (n int)`
      for (const n of [1, 2, 3]) {
        const before = engine.fsyncs
        yield* sql`insert into noted values (${n})`
        assert.isAbove(engine.fsyncs, before)
      }
      const read = sql`select * from noted`
      // The first read tidies up what the inserts have left in the pages.
      yield* read
      const before = engine.fsyncs
      yield* read
      assert.strictEqual(engine.fsyncs, before)
    })
  )
})
