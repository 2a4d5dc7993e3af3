import * as Net from "node:net"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Remote from "../../../src/Layers/Repo/Postgres/Remote.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { DatabaseHealth } from "../../../src/Services/DatabaseHealth.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { at, makeAgent, makeUser, makeWorkspace } from "../../support/Fixtures.ts"
import { freezingProxy } from "../../support/FreezingProxy.ts"
import * as Postgres from "../../support/Postgres.ts"

const databaseTimeoutMillis = 500
const settings = { ...Settings.defaults, databaseTimeoutMillis }

/** The pool of production, with a short patience. */
const remote = (url: string) =>
  layerNode(Remote.layer(Redacted.make(url)).pipe(Layer.provide(Layer.succeed(Settings, settings))), settings)

/** Fails unless the effect is `Unavailable` within its bound and a second; the second is for slow machines. */
const unavailableInTime = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const error = yield* Effect.flip(effect)
    const took = (yield* Clock.currentTimeMillis) - start
    assert.instanceOf(error, Unavailable)
    assert.isAtMost(took, databaseTimeoutMillis + 1_000)
  })

const count = Effect.flatMap(UserRepo, (users) => users.count)
const transaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Transaction, ({ atomically }) => atomically(effect))
const thirty = Effect.all(
  Array.from({ length: 30 }, () => count),
  { concurrency: "unbounded" }
)
const health = Effect.flatMap(DatabaseHealth, ({ check }) => check)

const closedPort = Effect.promise(
  () =>
    new Promise<number>((resolve) => {
      const probe = Net.createServer().listen(0, "127.0.0.1", () => {
        const { port } = probe.address() as Net.AddressInfo
        probe.close(() => resolve(port))
      })
    })
)

/** A node whose way to the server can be frozen, with connections that were in use before. */
const throughProxy = Effect.gen(function* () {
  const url = new URL(yield* Postgres.migratedDatabase)
  const proxy = yield* freezingProxy(Number(url.port))
  url.port = String(proxy.port)
  const node = yield* Layer.build(remote(url.href))
  yield* Effect.provide(Effect.all([makeUser, count, count], { concurrency: "unbounded" }), node)
  return { node, proxy }
})

const suite = () => {
  it.live("is Unavailable when nothing listens", () =>
    Effect.gen(function* () {
      const url = `postgres://postgres@127.0.0.1:${yield* closedPort}/agentd`
      yield* Effect.gen(function* () {
        yield* unavailableInTime(count)
        yield* unavailableInTime(transaction(count))
        yield* unavailableInTime(health)
      }).pipe(Effect.provide(layerNode(Postgres.client(url), settings)))
    })
  )

  it.live("does not start when nothing listens", () =>
    Effect.gen(function* () {
      const url = `postgres://postgres@127.0.0.1:${yield* closedPort}/agentd`
      const error = yield* Effect.flip(Effect.scoped(Layer.build(remote(url))))
      assert.strictEqual(error._tag, "SqlError")
    })
  )

  it.live.each<[string, Effect.Effect<unknown, Unavailable, DatabaseHealth | Transaction | UserRepo>]>([
    ["a query", count],
    ["the check of health", health],
    ["a transaction", transaction(count)],
    [
      "one of 30 queries",
      Effect.all(
        Array.from({ length: 30 }, () => count),
        { concurrency: "unbounded" }
      )
    ]
  ])("is Unavailable in time when the server is frozen: %s", ([, effect]) =>
    Effect.gen(function* () {
      const { node, proxy } = yield* throughProxy
      yield* proxy.freeze
      yield* unavailableInTime(effect).pipe(Effect.provide(node))
      yield* proxy.thaw
    })
  )

  it.live("is Unavailable in time when the server freezes within a transaction, which is undone", () =>
    Effect.gen(function* () {
      const { node, proxy } = yield* throughProxy
      yield* Effect.gen(function* () {
        const before = yield* count
        yield* unavailableInTime(transaction(makeUser.pipe(Effect.tap(proxy.freeze), Effect.andThen(count))))
        yield* proxy.thaw
        assert.strictEqual(yield* Effect.retry(count, { times: 5 }), before)
      }).pipe(Effect.provide(node))
    })
  )

  it.live("serves again within two seconds of a thaw, all connections of the pool", () =>
    Effect.gen(function* () {
      const { node, proxy } = yield* throughProxy
      yield* Effect.gen(function* () {
        yield* proxy.freeze
        yield* unavailableInTime(thirty)
        yield* proxy.thaw
        const start = yield* Clock.currentTimeMillis
        yield* Effect.retry(thirty, { schedule: Schedule.spaced("20 millis"), times: 100 })
        assert.isAtMost((yield* Clock.currentTimeMillis) - start, 2_000)
      }).pipe(Effect.provide(node))
    })
  )

  it.live("closes within the time of a drain when the server is frozen", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { node, proxy } = yield* Scope.provide(throughProxy, scope)
      yield* proxy.freeze
      yield* unavailableInTime(thirty).pipe(Effect.provide(node))
      const start = yield* Clock.currentTimeMillis
      yield* Scope.close(scope, Exit.void)
      // The client waits 5 seconds for the server to take a cancellation.
      assert.isAtMost((yield* Clock.currentTimeMillis) - start, Settings.defaults.drainMillis)
    })
  )

  it.live("is Unavailable in time when every connection is taken", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Effect.forEach(Array.from({ length: 10 }), () => sql.reserve)
          yield* unavailableInTime(count)
          yield* unavailableInTime(transaction(count))
        })
      )
      yield* count
    }).pipe(Effect.provide(layerNode(Postgres.layerClient, settings)))
  )

  it.live("is Unavailable in time when a row is locked, and does not write later", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const agents = yield* AgentRepo
      const agent = yield* makeAgent(yield* makeWorkspace)
      const [locked, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holding = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select id from agents where id = ${agent.id} for update`
            yield* Deferred.succeed(locked, undefined)
            yield* Deferred.await(release)
          })
        )
      )
      yield* Deferred.await(locked)
      yield* unavailableInTime(agents.update(agent.id, { name: "Late" }, at(1)))
      yield* Postgres.untilWaiting(0)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holding)
      assert.deepStrictEqual(yield* agents.find(agent.id), Option.some(agent))
    }).pipe(Effect.provide(layerNode(Postgres.layerClient, settings)))
  )

  it.live("ends a transaction that takes too long, and undoes it", () =>
    Effect.gen(function* () {
      const before = yield* count
      yield* unavailableInTime(transaction(Effect.andThen(makeUser, Effect.never)))
      assert.strictEqual(yield* count, before)
    }).pipe(Effect.provide(layerNode(Postgres.layerClient, settings)))
  )
}

if (Postgres.hasPostgres) describe("Outage of PostgreSQL", suite)
else describe.skip(Postgres.skipped("Outage of PostgreSQL"), suite)
