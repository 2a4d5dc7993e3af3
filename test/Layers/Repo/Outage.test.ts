import * as Net from "node:net"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
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

const settings = { ...Settings.defaults, databaseTimeoutMillis: 500 }

/**
 * Two nodes over the connections of one client: the hasty one has the patience of these tests, which ends
 * what is not to be answered, and the patient one does what is to succeed.
 */
const twoNodes = Effect.fnUntraced(function* <E, R>(client: Layer.Layer<PgClient, E, R>) {
  const shared = Layer.succeedContext(yield* Layer.build(client))
  return {
    hasty: yield* Layer.build(layerNode(shared, settings)),
    patient: yield* Layer.build(layerNode(shared))
  }
})

/** The pool of production. */
const remote = (url: string) =>
  Remote.layer({ url: Redacted.make(url) }).pipe(Layer.provide(Layer.succeed(Settings, Settings.defaults)))

const isUnavailable = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => assert.instanceOf(error, Unavailable))

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

/** Nodes whose way to the server can be frozen, with connections that were in use before. */
const throughProxy = Effect.gen(function* () {
  const url = new URL(yield* Postgres.migratedDatabase)
  const proxy = yield* freezingProxy(Number(url.port))
  url.port = String(proxy.port)
  const nodes = yield* twoNodes(remote(url.href))
  yield* Effect.provide(Effect.all([makeUser, count, count], { concurrency: "unbounded" }), nodes.patient)
  return { ...nodes, proxy }
})

const suite = () => {
  it.live("is Unavailable when nothing listens", () =>
    Effect.gen(function* () {
      const url = `postgres://postgres@127.0.0.1:${yield* closedPort}/agentd`
      yield* Effect.gen(function* () {
        yield* isUnavailable(count)
        yield* isUnavailable(transaction(count))
        yield* isUnavailable(health)
      }).pipe(Effect.provide(layerNode(Postgres.client(url))))
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
    ["one of 30 queries", thirty]
  ])("is Unavailable when the server is frozen: %s", ([, effect]) =>
    Effect.gen(function* () {
      const { hasty, proxy } = yield* throughProxy
      yield* proxy.freeze
      yield* isUnavailable(effect).pipe(Effect.provide(hasty))
      yield* proxy.thaw
    })
  )

  it.live("is Unavailable when the server freezes within a transaction, which is undone", () =>
    Effect.gen(function* () {
      const { hasty, patient, proxy } = yield* throughProxy
      const before = yield* Effect.provide(count, patient)
      yield* isUnavailable(transaction(makeUser.pipe(Effect.tap(proxy.freeze), Effect.andThen(count)))).pipe(
        Effect.provide(hasty)
      )
      yield* proxy.thaw
      assert.strictEqual(yield* Effect.retry(count, { times: 5 }).pipe(Effect.provide(patient)), before)
    })
  )

  it.live("serves again after a thaw, on all connections of the pool", () =>
    Effect.gen(function* () {
      const { hasty, patient, proxy } = yield* throughProxy
      yield* proxy.freeze
      yield* isUnavailable(thirty).pipe(Effect.provide(hasty))
      yield* proxy.thaw
      yield* Effect.retry(thirty, { times: 5 }).pipe(Effect.provide(patient))
    })
  )

  it.live("closes while the server is frozen", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { hasty, proxy } = yield* Scope.provide(throughProxy, scope)
      yield* proxy.freeze
      yield* isUnavailable(thirty).pipe(Effect.provide(hasty))
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.live("is Unavailable when every connection is taken", () =>
    Effect.gen(function* () {
      const { hasty, patient } = yield* twoNodes(Postgres.layerClient)
      const sql = Context.get(patient, PgClient)
      yield* Effect.scoped(
        Effect.gen(function* () {
          // Of ten, two are shared (Sessions.ts).
          yield* Effect.forEach(Array.from({ length: 8 }), () => sql.reserve)
          yield* isUnavailable(count)
          yield* isUnavailable(transaction(count))
        })
      ).pipe(Effect.provide(hasty))
      yield* Effect.provide(count, patient)
    })
  )

  it.live("is Unavailable when a row is locked, and does not write later", () =>
    Effect.gen(function* () {
      const { hasty, patient } = yield* twoNodes(Postgres.layerClient)
      const sql = Context.get(patient, PgClient)
      const agent = yield* Effect.flatMap(makeWorkspace, (id) => makeAgent(id)).pipe(Effect.provide(patient))
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
      yield* isUnavailable(Context.get(hasty, AgentRepo).update(agent.id, { name: "Late" }, at(1)))
      yield* Effect.provide(Postgres.untilWaiting(0), patient)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holding)
      assert.deepStrictEqual(
        yield* Context.get(patient, AgentRepo).find(agent.id),
        Option.some({ ...agent, policy: null })
      )
    })
  )

  it.live("ends a transaction that takes too long, and undoes it", () =>
    Effect.gen(function* () {
      const { hasty, patient } = yield* twoNodes(Postgres.layerClient)
      const before = yield* Effect.provide(count, patient)
      yield* Effect.provide(isUnavailable(transaction(Effect.andThen(makeUser, Effect.never))), hasty)
      assert.strictEqual(yield* Effect.provide(count, patient), before)
    })
  )
}

if (Postgres.hasPostgres) describe("Outage of PostgreSQL", suite)
else describe.skip(Postgres.skipped("Outage of PostgreSQL"), suite)
