import { Socket } from "node:net"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { Database } from "../../../src/Layers/Repo/Postgres/Database.ts"
import * as Remote from "../../../src/Layers/Repo/Postgres/Remote.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { freezingProxy } from "../../support/FreezingProxy.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"

/** A node on a database of its own, and somebody else on it. */
const makeNode = Effect.fnUntraced(function* (
  databasePool: number,
  detour: (url: string) => Effect.Effect<string, never, Scope.Scope> = Effect.succeed
) {
  const url = yield* Postgres.migratedDatabase
  const settings = Layer.succeed(Settings, {
    ...Settings.defaults,
    databasePool,
    databaseTimeoutMillis: 60_000
  })
  const remote = Remote.layer({ url: Redacted.make(yield* detour(url)) })
  const node = yield* Layer.build(
    Layer.fresh(Database.layer.pipe(Layer.provide(remote), Layer.provide(settings)))
  )
  const other = yield* Layer.build(Layer.fresh(Postgres.client(url)))
  const database = yield* Effect.provideContext(Database, node)
  return { ...database, other: yield* Effect.provideContext(PgClient, other) }
})

const pidOf = (rows: ReadonlyArray<object>) => (rows[0] as { pid: number } | undefined)?.pid

const suite = () => {
  it.live("what is brief goes over few sessions, all else has one of its own", () =>
    Effect.gen(function* () {
      // Of ten, three are for lists (DatabasePool.ts).
      const { lookUp, query, sql } = yield* makeNode(10)
      const all = Array.from({ length: 30 }, () => sql`select pg_backend_pid() as pid, pg_sleep(0.01)`)
      const brief = yield* Effect.all(all.map(lookUp), { concurrency: "unbounded" })
      assert.isAtMost(new Set(brief.map(pidOf)).size, 2)
      const others = yield* Effect.all(all.map(query), { concurrency: "unbounded" })
      assert.strictEqual(new Set(others.map(pidOf)).size, 5)
      for (const pid of others.map(pidOf)) assert.notInclude(brief.map(pidOf), pid)
    })
  )

  it.live("what is asked for in one turn of the event loop goes in one write to each of them", () =>
    Effect.gen(function* () {
      const { lookUp, sql } = yield* makeNode(8)
      const look = lookUp(sql`select 1 as one`)
      yield* Effect.all([look, look, look, look], { concurrency: "unbounded" })
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      const written = vi.spyOn(Socket.prototype, "write")
      yield* Effect.addFinalizer(() => Effect.sync(() => written.mockRestore()))
      const asked: Array<Promise<unknown>> = []
      // One behind the other, as requests are read: what is put off to the end of a step is done between them.
      const steps = async () => {
        for (let n = 0; n < 20; n++) {
          asked.push(run(look))
          await new Promise<void>((done) => process.nextTick(done))
        }
      }
      yield* Effect.promise(steps)
      assert.strictEqual((yield* Effect.promise(() => Promise.all(asked))).length, 20)
      assert.isAtMost(written.mock.calls.length, 2)
    })
  )

  it.live("of few sessions none is shared", () =>
    Effect.gen(function* () {
      const { lookUp, sql } = yield* makeNode(4)
      const pids = yield* Effect.all(
        [1, 2].map(() => lookUp(sql`select pg_backend_pid() as pid, pg_sleep(0.2)`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(pids.map(pidOf)).size, 2)
    })
  )

  it.live("what waits for a lock there is asked again elsewhere, and does not hold up the others", () =>
    Effect.gen(function* () {
      const { lookUp, other, query, sql } = yield* makeNode(8)
      yield* other`create table locked (id int)`
      const waiting = yield* other.withTransaction(
        Effect.gen(function* () {
          yield* other`lock table locked in access exclusive mode`
          const look = lookUp(sql`select count(*)::int as count from locked`)
          const waiting = yield* Effect.all([look, look, look], { concurrency: "unbounded" }).pipe(
            Effect.forkScoped
          )
          yield* eventually(
            Effect.map(
              query(sql<{ count: number }>`
                select count(*)::int as count from pg_stat_activity
                where wait_event_type = 'Lock' and query like '%from locked' and datname = current_database()`),
              ([row]) => row?.count === 3
            ),
            "all of them wait on sessions of their own"
          )
          assert.strictEqual((yield* lookUp(sql`select 1 as one`)).length, 1)
          return waiting
        })
      )
      assert.deepStrictEqual(yield* Fiber.join(waiting), [[{ count: 0 }], [{ count: 0 }], [{ count: 0 }]])
    })
  )

  it.live("a statement within a transaction is on its session, however brief", () =>
    Effect.gen(function* () {
      const { lookUp, other, sql } = yield* makeNode(8)
      yield* other`create table counted (id int)`
      const seen = yield* sql.withTransaction(
        Effect.andThen(sql`insert into counted values (1)`, lookUp(sql`select id from counted`))
      )
      assert.deepStrictEqual(seen, [{ id: 1 }])
    })
  )

  it.live("what is on a session that is cut is asked again elsewhere", () =>
    Effect.gen(function* () {
      const { lookUp, other, sql } = yield* makeNode(8)
      const look = lookUp(sql`select pg_backend_pid() as pid, pg_sleep(0.1)`)
      const pid = pidOf(yield* lookUp(sql`select pg_backend_pid() as pid`))
      const all = yield* Effect.forkChild(
        Effect.all([look, look, look, look, look], { concurrency: "unbounded" })
      )
      yield* eventually(
        Effect.map(
          other`select pg_terminate_backend(pid) from pg_stat_activity
            where pid = ${pid} and query like '%pg_sleep%' and state = 'active'`,
          (found) => found.length === 1
        ),
        "it is cut while it works"
      )
      const found = yield* Fiber.join(all)
      assert.strictEqual(found.length, 5)
      assert.isFalse(found.every((rows) => pidOf(rows) === pid))
    })
  )

  it.live("a row that can't be read is no fault of those that share its session", () =>
    Effect.gen(function* () {
      const { lookUp, sql } = yield* makeNode(8)
      const bad = lookUp(sql`select '{{1}}'::int[] as read, pg_sleep(0.05)`)
      const good = lookUp(sql`select 1 as one`)
      const [first, ...others] = yield* Effect.all(
        [bad, good, good, good, good].map((each) => Effect.exit(each)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(first?._tag, "Failure")
      for (const exit of others) assert.deepStrictEqual(exit, Exit.succeed([{ one: 1 }]))
    })
  )

  it.live("nothing is shared for a while where a statement took too long", () =>
    Effect.gen(function* () {
      const { lookUp, sql } = yield* makeNode(8)
      const pid = lookUp(sql`select pg_backend_pid() as pid`)
      const shared = pidOf(yield* pid)
      yield* lookUp(sql`select pg_sleep(0.4)`)
      const slow = Array.from({ length: 3 }, () =>
        lookUp(sql`select pg_backend_pid() as pid, pg_sleep(0.05)`)
      )
      const pids = (yield* Effect.all(slow, { concurrency: "unbounded" })).map(pidOf)
      assert.strictEqual(new Set(pids).size, 3)
      assert.notInclude(pids, shared)
      yield* eventually(
        Effect.map(pid, (rows) => pidOf(rows) === shared),
        "it is shared again"
      )
    })
  )

  it.live("a session whose way is lost is left when somebody has waited for a second", () =>
    Effect.gen(function* () {
      let proxy: Effect.Success<ReturnType<typeof freezingProxy>> | undefined
      const { lookUp, sql } = yield* makeNode(
        8,
        Effect.fnUntraced(function* (url) {
          const detour = new URL(url)
          proxy = yield* freezingProxy(Number(detour.port))
          detour.port = String(proxy.port)
          return detour.href
        })
      )
      const pid = lookUp(sql`select pg_backend_pid() as pid`)
      const before = pidOf(yield* pid)
      yield* proxy?.freezeThoseOf("agentd") ?? Effect.void
      yield* Effect.timeoutOption(pid, "1100 millis")
      assert.notStrictEqual(pidOf(yield* pid), before)
    })
  )
}

if (Postgres.hasPostgres) describe("Sessions that are shared", suite)
else describe.skip(Postgres.skipped("Sessions that are shared"), suite)
