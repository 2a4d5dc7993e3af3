import * as Fs from "node:fs"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import { PgClient } from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Engine } from "../../../src/Layers/Repo/Postgres/Embedded/engine.ts"
import type { Recovery } from "../../../src/Layers/Repo/Postgres/Embedded/messages.ts"
import { Thread } from "../../../src/Layers/Repo/Postgres/Embedded/thread.ts"
import { walToReplay } from "../../../src/Layers/Repo/Postgres/Embedded/wal.ts"
import * as Embedded from "../../../src/Layers/Repo/Postgres/Embedded.ts"
import { eventually } from "../../support/Until.ts"
import { databaseFolder, emptyFolder, makeTemplate, open, removeFolders } from "./EmbeddedFolders.ts"

beforeAll(makeTemplate)
afterAll(removeFolders)

const mebibyte = 1024 * 1024
const workerUrl = new URL("../../../src/Layers/Repo/Postgres/Embedded/worker.ts", import.meta.url)

/** An engine whose worker only says so often that it gets on, and is ready then, if it ever is. */
const makeEngine = (tells: number, everyMillis: number, startLimitMillis: number, then: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const script = Path.join(emptyFolder(), "worker.mjs")
      Fs.writeFileSync(
        script,
        `import { parentPort } from "node:worker_threads"
        let left = ${tells}
        const timer = setInterval(() => {
          if (left-- > 0) return parentPort.postMessage({ kind: "opening", recovery: { replayed: left, total: ${tells} } })
          clearInterval(timer)
          ${then}
        }, ${everyMillis})
        parentPort.on("message", () => parentPort.postMessage({ kind: "closed" }))`
      )
      return new Engine({
        workerUrl: pathToFileURL(script),
        directory: "",
        startLimitMillis,
        batchLimitMillis: 1_000,
        abandonedLimitMillis: 1_000,
        closeLimitMillis: 1_000
      })
    }),
    (engine) => Effect.promise(() => engine.close())
  )

describe("A start of the embedded database", () => {
  it.live("is not given up while it gets on, however long that takes", () =>
    Effect.gen(function* () {
      const engine = yield* makeEngine(90, 50, 3_000, `parentPort.postMessage({ kind: "ready" })`)
      yield* Effect.promise(() => engine.start())
      assert.isUndefined(engine.recovery)
    })
  )

  it.live("is given up when it gets no further", () =>
    Effect.gen(function* () {
      const engine = yield* makeEngine(2, 50, 2_000, "")
      const error = yield* Effect.flip(
        Effect.tryPromise({ try: () => engine.start(), catch: (error) => error as Error })
      )
      assert.strictEqual(error.message, "it got no further within 2 seconds")
    })
  )

  it.live("says how much of the WAL is replayed, and nothing of it after an orderly stop", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const directory = Path.join(dataDir, "postgres")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { engine, sql } = yield* open({ dataDir })
          yield* sql`create table kept as select repeat('x', 1000) as filler from generate_series(1, 20000)`
          yield* Effect.promise(() => engine.kill("the test killed it"))
        })
      )
      const wal = walToReplay(directory)
      const written = (wal?.to ?? 0) - (wal?.from ?? 0)
      assert.isAbove(written, 20 * mebibyte)
      assert.isBelow(written, 30 * mebibyte)
      const told: Array<Recovery | undefined> = []
      const thread = new Thread(
        workerUrl,
        { directory, template: undefined },
        { opening: (recovery) => told.push(recovery), answer: () => {}, ended: () => {} }
      )
      assert.strictEqual(yield* Effect.promise(() => thread.opened), "ready")
      thread.post({ kind: "close" })
      yield* Effect.promise(() => thread.ended)
      const replayed = told.map((recovery) => recovery?.replayed ?? Number.NaN)
      assert.deepStrictEqual(new Set(told.map((recovery) => recovery?.total)), new Set([written]))
      assert.deepStrictEqual([replayed[0], replayed.at(-1)], [0, written])
      assert.deepStrictEqual(
        replayed,
        replayed.toSorted((a, b) => a - b)
      )
      assert.isUndefined(walToReplay(directory))
    })
  )

  it.live("has all the time for what prepares it, and the limit of a statement afterwards", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const prepare = Effect.flatMap(SqlClient, (sql) => sql`select pg_sleep(4)`)
      yield* Effect.gen(function* () {
        const sql = yield* PgClient
        const error = yield* Effect.flip(sql`select pg_sleep(60)`)
        assert.include(String(error.reason.cause), "a query took too long")
      }).pipe(Effect.provide(Embedded.layer({ dataDir, limits: { batchLimitMillis: 3_000 } }, prepare)))
    })
  )
})

describe("The embedded database over time", () => {
  it.live("has no more WAL to replay than it is allowed, removes its files, and vacuums", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const segments = () =>
        Fs.readdirSync(Path.join(dataDir, "postgres", "pg_wal")).filter((name) => name.length === 24).length
      yield* Effect.gen(function* () {
        const sql = yield* PgClient
        const toReplay = Effect.map(
          sql<{ bytes: number }>`
            select (pg_current_wal_insert_lsn() - redo_lsn)::float8 as bytes from pg_control_checkpoint()`,
          ([row]) => row?.bytes ?? Number.NaN
        )
        yield* sql`create table filled (n int, filler text)`
        for (let round = 0; round < 3; round++) {
          yield* sql`insert into filled select n, repeat('x', 1000) from generate_series(1, 70000) n`
          yield* eventually(
            Effect.map(toReplay, (bytes) => bytes < 64 * mebibyte),
            "a checkpoint is made"
          )
        }
        yield* eventually(
          Effect.sync(() => segments() <= 8),
          "what was replayed is removed"
        )
        yield* sql`update filled set n = n + 1 where n < 30000`
        const vacuumed = sql<{ vacuumed: boolean }>`
          select pg_stat_get_last_vacuum_time('filled'::regclass) is not null as vacuumed`
        yield* eventually(
          Effect.map(vacuumed, ([row]) => row?.vacuumed === true),
          "it is vacuumed"
        )
      }).pipe(Effect.provide(Embedded.layer({ dataDir })))
    })
  )
})
