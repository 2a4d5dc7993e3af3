import * as Fs from "node:fs"
import * as Path from "node:path"
import type { Duplex } from "node:stream"
import * as PgProtocol from "@effect/sql-pg/PgProtocol"
import { afterAll, assert, beforeAll, describe, it, layer } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isSqlError } from "effect/sql/SqlError"
import type { Engine } from "../../../src/Layers/Repo/Postgres/Embedded/engine.ts"
import { connect } from "../../../src/Layers/Repo/Postgres/Embedded/stream.ts"
import { eventually, until } from "../../support/Until.ts"
import {
  databaseFolder,
  emptyFolder,
  makeTemplate,
  open,
  removeFolders,
  startProcess
} from "./EmbeddedFolders.ts"

beforeAll(makeTemplate)
afterAll(removeFolders)

const readyForQuery = "Z\0\0\0\x05"

const heavy = "select sum(a::numeric * b) from generate_series(1, 100000) a, generate_series(1, 1000) b"

const query = (sql: string): Uint8Array => {
  const text = Buffer.from(`${sql}\0`)
  const head = Buffer.from([0x51, 0, 0, 0, 0])
  head.writeUInt32BE(text.length + 4, 1)
  return Buffer.concat([head, text])
}

/** What a connection gets until the answer to its latest write is complete. */
const answer = (stream: Duplex): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    const onData = (chunk: Buffer) => {
      text += chunk.toString("latin1")
      if (text.slice(0, -1).endsWith(readyForQuery)) {
        stream.off("data", onData)
        resolve(text)
      }
    }
    stream.on("data", onData).once("error", reject)
  })

const session = (engine: Engine) =>
  Effect.gen(function* () {
    const stream = yield* Effect.acquireRelease(
      Effect.sync(() => connect(engine)),
      (stream) => Effect.sync(() => stream.destroy())
    )
    stream.write(PgProtocol.encodeStartupMessage({ user: "postgres", database: "postgres" }))
    yield* Effect.promise(() => answer(stream))
    // The next write is handed over as it is made, and not behind this one.
    yield* eventually(
      Effect.sync(() => stream.writableLength === 0),
      "the start is over"
    )
    const ask = (sql: string) => {
      stream.write(query(sql))
      return answer(stream)
    }
    return { stream, ask }
  })

const closed = (stream: Duplex) =>
  Effect.promise(() => new Promise<void>((resolve) => stream.once("close", () => resolve())))

class Shared extends Context.Service<Shared, Engine>()("agentd/test/Shared") {
  static readonly layer = Layer.effect(
    Shared,
    Effect.map(open(), ({ engine }) => engine)
  )
}

layer(Shared.layer, { excludeTestServices: true })("Embedded as one session", (it) => {
  it.effect("gives each connection a session without anything of the one before", () =>
    Effect.gen(function* () {
      const engine = yield* Shared
      const first = yield* session(engine)
      yield* Effect.promise(() => first.ask("create temp table secret as select 1"))
      yield* Effect.promise(() => first.ask("set timezone = 'Asia/Tokyo'"))
      yield* Effect.promise(() => first.ask("prepare p as select 1"))
      yield* Effect.promise(() => first.ask("begin"))
      yield* Effect.promise(() => first.ask("create table unfinished (n int)"))
      assert.include(yield* Effect.promise(() => first.ask("selec")), "ERROR")
      first.stream.destroy()
      const second = yield* session(engine)
      const ask = (sql: string) => Effect.promise(() => second.ask(sql))
      assert.include(yield* ask("select * from secret"), "does not exist")
      assert.include(yield* ask("select * from unfinished"), "does not exist")
      assert.include(yield* ask("execute p"), "does not exist")
      assert.include(yield* ask("show timezone"), "UTC")
    })
  )

  it.effect("drops the late answer of a connection that is gone", () =>
    Effect.gen(function* () {
      const engine = yield* Shared
      const first = yield* session(engine)
      first.stream.write(query("select 'late' from pg_sleep(0.3)"))
      const reached: Array<string> = []
      first.stream.on("data", (chunk: Buffer) => reached.push(chunk.toString("latin1")))
      first.stream.destroy()
      const second = yield* session(engine)
      assert.notInclude(yield* Effect.promise(() => second.ask("select 'mine'")), "late")
      assert.deepStrictEqual(reached, [])
    })
  )

  it.effect("lets a second connection wait until the first has ended", () =>
    Effect.gen(function* () {
      const engine = yield* Shared
      const first = yield* session(engine)
      yield* Effect.promise(() => first.ask("begin"))
      const waiting = connect(engine)
      waiting.write(PgProtocol.encodeStartupMessage({ user: "postgres" }))
      const greeted = answer(waiting)
      yield* Effect.promise(() => first.ask("create table whole (n int)"))
      assert.include(yield* Effect.promise(() => first.ask("commit")), "COMMIT")
      first.stream.end(PgProtocol.encodeTerminate())
      yield* Effect.promise(() => greeted)
      waiting.write(query("select * from whole"))
      assert.include(yield* Effect.promise(() => answer(waiting)), "SELECT 0")
      waiting.destroy()
    })
  )

  it.effect("closes a cancel request, refuses TLS, and leaves the session alone", () =>
    Effect.gen(function* () {
      const engine = yield* Shared
      const { ask } = yield* session(engine)
      yield* Effect.promise(() => ask("create temp table mine as select 1"))
      const cancel = connect(engine)
      cancel.write(PgProtocol.encodeCancelRequest({ pid: 1, secret: 1 }))
      yield* closed(cancel)
      const tls = connect(engine)
      tls.write(PgProtocol.encodeSslRequest())
      const reply = yield* Effect.promise(
        () => new Promise<Buffer>((resolve) => tls.once("data", (chunk: Buffer) => resolve(chunk)))
      )
      assert.strictEqual(reply.toString(), "N")
      tls.destroy()
      assert.include(yield* Effect.promise(() => ask("select * from mine")), "SELECT 1")
    })
  )
})

describe("Embedded after a failure", () => {
  it.live("starts a new worker for the next query when one was killed", () =>
    Effect.gen(function* () {
      const { engine, sql } = yield* open()
      yield* sql`create table kept as select 1 as n`
      const cached = sql`select n from kept where n = ${1}::int`
      assert.deepStrictEqual(yield* cached, [{ n: 1 }])
      yield* Effect.promise(() => engine.kill("the test killed it"))
      assert.deepStrictEqual(yield* cached, [{ n: 1 }])
      assert.deepStrictEqual(yield* cached, [{ n: 1 }])
    })
  )

  it.live("fails the transaction under way, and rolls it back", () =>
    Effect.gen(function* () {
      const { engine, sql } = yield* open()
      yield* sql`create table kept (n int)`
      const cause = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`insert into kept values (1)`
            yield* Effect.promise(() => engine.kill("the test killed it"))
            yield* sql`insert into kept values (2)`
          })
        )
        .pipe(Effect.sandbox, Effect.flip)
      // Effect makes a defect of it, for the ROLLBACK finds no connection either.
      const error = Cause.squash(cause)
      assert.isTrue(isSqlError(error) && error.reason._tag === "ConnectionError")
      assert.deepStrictEqual(yield* sql`select n from kept`, [])
    })
  )

  it.live("ends a query over the limit, and serves the next one", () =>
    Effect.gen(function* () {
      const { sql } = yield* open({ limits: { batchLimitMillis: 3_000 } })
      const error = yield* Effect.flip(sql.unsafe(heavy))
      assert.strictEqual(error.reason._tag, "ConnectionError")
      assert.include(String(error.reason.cause), "a query took too long")
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
    })
  )

  it.live("ends a query whose connection is gone", () =>
    Effect.gen(function* () {
      const { engine } = yield* open({ limits: { abandonedLimitMillis: 100, batchLimitMillis: 3_600_000 } })
      const first = yield* session(engine)
      first.stream.write(query(heavy))
      first.stream.destroy()
      const second = yield* session(engine)
      assert.include(yield* Effect.promise(() => second.ask("select 1")), "SELECT 1")
    })
  )

  it.live("says so when it is closed", () =>
    Effect.gen(function* () {
      const { engine, sql } = yield* open()
      yield* sql`select 1`
      yield* Effect.promise(() => engine.close())
      const error = yield* Effect.flip(sql`select 1`)
      assert.strictEqual(error.reason._tag, "ConnectionError")
      assert.include(String(error.reason.cause), "closed")
    })
  )
})

describe("Embedded after kill -9", () => {
  it.live("has every row that was acknowledged", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const acknowledged = new Set<number>()
      for (const rows of [40, 90]) {
        const until = acknowledged.size + rows
        yield* Effect.promise(async () => {
          const child = startProcess(dataDir, (line) => {
            if (line.startsWith("row ")) acknowledged.add(Number(line.slice(4)))
            if (acknowledged.size >= until) void child.kill()
          })
          await child.ended
        })
        assert.isAtLeast(acknowledged.size, until)
      }
      const { sql } = yield* open({ dataDir })
      const stored = yield* sql<{ id: number }>`select id from rows where length(filler) = 500`
      const ids = new Set(stored.map((row) => row.id))
      assert.deepStrictEqual(
        [...acknowledged].filter((id) => !ids.has(id)),
        []
      )
      assert.isAtMost(stored.length, acknowledged.size + 2)
    })
  )

  it.live("starts anew when the first start was cut off", () =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      yield* Effect.promise(async () => {
        const child = startProcess(dataDir, () => {})
        await until(() => Fs.existsSync(Path.join(dataDir, "postgres.new", "base")), "a part of it is there")
        await child.kill()
      })
      const { sql } = yield* open({ dataDir })
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
    })
  )
})
