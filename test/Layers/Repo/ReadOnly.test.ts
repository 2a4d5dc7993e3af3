import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Application from "../../../src/Layers/Application.ts"
import * as Ring from "../../../src/Layers/SecretBox/Ring.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import { DatabaseHealth } from "../../../src/Services/DatabaseHealth.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import type { Ids } from "../../../src/Services/Ids.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeUser } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { layerScriptedInference, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"

const sessions = 10
/** Of them two are shared (Sessions.ts). */
const reservable = sessions - 2
/** Much longer than anything takes here, and much shorter than it takes a session that nobody uses to be closed. */
const soonMillis = 120_000

/** A node whose sessions are closed by nobody because they are idle. */
const node = (url: string) =>
  layerNode(Postgres.client(url, { maxConnections: sessions, idleTimeout: "1 hour" }))

const check = Effect.flatMap(DatabaseHealth, (health) => health.check)
const write = Effect.asVoid(makeUser)
const writeTogether = Effect.flatMap(Transaction, ({ atomically }) => atomically(write))
const count = Effect.flatMap(UserRepo, (users) => users.count)
const succeeds = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.result(effect), ({ _tag }) => _tag === "Success")

/** All sessions that the node may have for itself are open, and made under the rule of now. */
const openAll = Effect.gen(function* () {
  const sql = yield* PgClient
  yield* eventually(succeeds(count), "it reads")
  yield* Effect.scoped(Effect.replicateEffect(sql.reserve, reservable))
})

const suite = () => {
  it.live("is Unavailable while it only reads, also for whoever asks whether it is ready; reads go on", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      yield* Effect.gen(function* () {
        yield* check
        yield* write
        yield* Postgres.letNewSessions("only read", url, { cut: true })
        yield* openAll
        assert.instanceOf(yield* Effect.flip(write), Unavailable)
        assert.instanceOf(yield* Effect.flip(writeTogether), Unavailable)
        assert.instanceOf(yield* Effect.flip(check), Unavailable)
        assert.strictEqual(yield* count, 1)
      }).pipe(Effect.provide(node(url)))
    })
  )

  it.live.each<[string, Effect.Effect<boolean, never, DatabaseHealth | Ids | Transaction | UserRepo>]>([
    ["a check of health", succeeds(check)],
    ["a write", succeeds(write)],
    ["a transaction", succeeds(writeTogether)]
  ])("writes again on every session when it may: %s replaces those that only read", ([, notice]) =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      yield* Effect.gen(function* () {
        yield* Postgres.letNewSessions("only read", url, { cut: true })
        yield* openAll
        yield* Postgres.letNewSessions("write", url, { cut: false })
        yield* notice
        const all = Effect.all(
          Array.from({ length: 3 * sessions }, () => write),
          { concurrency: "unbounded", discard: true }
        )
        assert.isTrue(yield* succeeds(all))
        yield* check
      }).pipe(Effect.provide(node(url)))
    })
  )

  it.effect("replaces its sessions once a second at most, however many writes are refused", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      yield* Effect.gen(function* () {
        const sql = yield* PgClient
        const pid = Effect.map(sql<{ pid: number }>`select pg_backend_pid() as pid`, ([row]) => row?.pid)
        const refused = Effect.flatMap(Effect.flip(write), () => pid)
        yield* Postgres.letNewSessions("only read", url, { cut: true })
        yield* eventually(succeeds(count), "it reads")
        const before = yield* pid
        const after = yield* refused
        assert.notStrictEqual(after, before)
        assert.deepStrictEqual(new Set(yield* Effect.replicateEffect(refused, 20)), new Set([after]))
        yield* TestClock.adjust("1 second")
        assert.notStrictEqual(yield* refused, after)
      }).pipe(Effect.provide(node(url)))
    })
  )

  it.live("gives up the session alone that fails by itself, and no other", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      yield* Effect.gen(function* () {
        const sql = yield* PgClient
        const pid = Effect.map(sql<{ pid: number }>`select pg_backend_pid() as pid`, ([row]) => row?.pid)
        const afterFailure = (code: string) =>
          Effect.flip(
            sql`do ${sql.literal(`$$ begin raise exception using errcode = '${code}'; end $$`)}`
          ).pipe(Effect.andThen(pid))
        for (const code of ["08006", "26000", "40003", "42P05", "58000"]) {
          const before = yield* pid
          assert.notStrictEqual(yield* afterFailure(code), before, code)
        }
        for (const code of ["23505", "53100", "57014", "40001"]) {
          const before = yield* pid
          assert.strictEqual(yield* afterFailure(code), before, code)
        }
      }).pipe(Effect.provide(node(url)))
    })
  )

  it.live("fails no run that is under way: each is completed when it can be", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      let refused = 0
      const layerCounted = Layer.effect(
        RunJournal,
        Effect.map(RunJournal, (journal) => ({
          ...journal,
          record: (...given: Parameters<typeof journal.record>) =>
            Effect.onError(journal.record(...given), () => Effect.sync(() => void refused++))
        }))
      )
      const layerSecretBox = Ring.layer({
        current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"),
        former: []
      })
      const repos = layerNode(Postgres.client(url, { maxConnections: sessions, idleTimeout: "1 hour" }), {
        leaseMillis: 3_600_000
      })
      const layer = Engine.layerTasks.pipe(
        Layer.provideMerge(Application.layerWith(layerScriptedInference)),
        Layer.provideMerge(layerSecretBox),
        Layer.provideMerge(ScriptedModel.layer),
        Layer.provideMerge(Layer.provideMerge(layerCounted, repos))
      )
      yield* Effect.gen(function* () {
        const model = yield* ScriptedModel
        const runs = yield* Runs
        const { user, workspaceId } = yield* makeTenant()
        const gate = yield* makeGate
        model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
        const made = yield* Effect.replicateEffect(runs.create(user, { workspaceId, prompt: "work" }), 6)
        yield* eventually(
          Effect.sync(() => model.requests.length === made.length),
          "all are under way"
        )
        yield* Postgres.letNewSessions("only read", url, { cut: true })
        yield* openAll
        yield* gate.open
        yield* eventually(
          Effect.sync(() => refused >= 2 * made.length),
          "their steps were refused"
        )
        const statuses = Effect.forEach(made, ({ id }) =>
          Effect.map(runs.get(user, id), ({ status }) => status)
        )
        assert.deepStrictEqual([...new Set(yield* statuses)], ["RUNNING"])
        yield* Postgres.letNewSessions("write", url, { cut: false })
        yield* eventually(
          Effect.map(statuses, (all) => all.every((status) => status !== "RUNNING")),
          "all are over",
          soonMillis
        )
        assert.deepStrictEqual([...new Set(yield* statuses)], ["COMPLETED"])
        assert.strictEqual(model.requests.length, made.length, "no model was asked twice")
      }).pipe(Effect.provide(Layer.fresh(layer)))
    })
  )
}

if (Postgres.hasPostgres) describe("A PostgreSQL that only reads", suite)
else describe.skip(Postgres.skipped("A PostgreSQL that only reads"), suite)
