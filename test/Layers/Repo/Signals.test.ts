import { PgClient } from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { type Signal, Signals } from "../../../src/Services/Signals.ts"
import { onEveryBackend } from "../../support/Backends.ts"
import { newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"
import { makeNodes } from "./RunNodes.ts"

const publish = (signal: Signal) => Effect.flatMap(Signals, (signals) => signals.publish(signal))

/** All that a subscriber gets, as it comes, until the scope closes. */
const collect = Effect.gen(function* () {
  const got: Array<Signal> = []
  const stream = yield* (yield* Signals).subscribe
  yield* Effect.forkScoped(Stream.runForEach(stream, (signal) => Effect.sync(() => void got.push(signal))))
  return got
})

const ids = (got: ReadonlyArray<Signal>) =>
  got.flatMap((signal) => (signal.type === "run" ? [signal.id] : []))

/** Sends it again and again until it has come: a connection that listens may still be on its way. */
const sendUntilThere = (id: RunId, got: ReadonlyArray<Signal>) =>
  eventually(
    Effect.map(publish({ type: "run", id }), () => ids(got).includes(id)),
    `${id} has come`
  )

onEveryBackend("Signals", (it) => {
  it.effect("reach every subscriber of the node that sends them, in order", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* collect, yield* collect]
      const first = yield* newId<RunId>("run")
      yield* sendUntilThere(first, one)
      const sent = yield* Effect.replicateEffect(newId<RunId>("run"), 50)
      for (const id of sent) yield* publish({ type: "run", id })
      yield* publish({ type: "runs" })
      for (const got of [one, two]) {
        yield* eventually(
          Effect.sync(() => ids(got).includes(sent[49] ?? first) && got.at(-1)?.type === "runs"),
          "all signals are there"
        )
        assert.deepStrictEqual(
          ids(got).filter((id) => sent.includes(id)),
          sent
        )
      }
    }).pipe(Effect.scoped)
  )
})

onEveryBackend("Signals of many runs", (it) => {
  it.effect("reach subscribers of all of them, however many", () =>
    Effect.gen(function* () {
      const got = yield* collect
      yield* sendUntilThere(yield* newId<RunId>("run"), got)
      const [one, ...many] = yield* Effect.replicateEffect(newId<RunId>("run"), 1_000)
      if (one === undefined) return assert.fail()
      yield* publish({ type: "watch", ids: [one] })
      yield* publish({ type: "events", ids: [one, ...many] })
      const idsOf = (type: "watch" | "events") =>
        got.flatMap((signal) => (signal.type === type ? signal.ids : []))
      yield* eventually(
        Effect.sync(() => idsOf("events").length === 1_000),
        "all are there"
      )
      assert.deepStrictEqual(idsOf("watch"), [one])
      assert.deepStrictEqual(idsOf("events"), [one, ...many])
    }).pipe(Effect.scoped)
  )
})

const suite = () => {
  it.live("are understood as the version before sends them, and sends as it understands them", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(1)
      const got = yield* on(0, collect)
      const [one, two] = yield* on(0, Effect.all([newId<RunId>("run"), newId<RunId>("run")]))
      yield* on(0, sendUntilThere(one, got))
      const { url } = (yield* on(0, PgClient)).config
      const heard: Array<string> = []
      const listener = yield* PgConnection.make({ ...(url !== undefined && { url }) })
      const session = yield* listener.pin
      const notifications = yield* session.listen("agentd")
      yield* Effect.forkScoped(
        Effect.forever(Effect.map(Queue.take(notifications), ({ payload }) => void heard.push(payload)))
      )
      const sql = yield* on(0, PgClient)
      yield* sql.notify("agentd", JSON.stringify({ type: "events", id: one }))
      yield* on(0, publish({ type: "watch", ids: [two] }))
      yield* eventually(
        Effect.sync(() => got.at(-1)?.type === "watch" && heard.length === 2),
        "both have come"
      )
      assert.deepInclude(got, { type: "events", ids: [one] })
      assert.deepStrictEqual(JSON.parse(heard[1] ?? ""), { type: "watch", id: two })
    })
  )

  it.live("reach the other node, and do so again after the connections that listen were cut", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const [one, two] = [yield* on(0, collect), yield* on(1, collect)]
      /** Sends until it has come, so that none is missed while a connection is made. */
      const arrives = (from: number, got: ReadonlyArray<Signal>) =>
        Effect.gen(function* () {
          yield* sendUntilThere(yield* newId<RunId>("run"), got)
        }).pipe((sending) => on(from, sending))
      yield* arrives(0, two)
      yield* arrives(1, one)
      assert.include(
        two.map(({ type }) => type),
        "runs",
        "what was sent before anybody listened is lost: look"
      )

      const sql = yield* on(0, PgClient)
      for (let round = 0; round < 3; round++) {
        const cut = yield* sql`
          select pg_terminate_backend(pid, 120000) from pg_stat_activity
          where datname = current_database() and application_name = 'agentd listen'`
        assert.strictEqual(cut.length, 2)
        const before = [one.length, two.length] as const
        yield* arrives(0, two)
        yield* arrives(1, one)
        for (const [got, from] of [
          [one, before[0]],
          [two, before[1]]
        ] as const) {
          assert.include(
            got.slice(from).map(({ type }) => type),
            "runs",
            "what was sent while nobody listened is lost: look"
          )
        }
      }
    })
  )

  it.live("leave no connection behind, and take no harm from other messages", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      const { on } = yield* makeNodes(1, url)
      const sql = yield* on(0, PgClient)
      yield* Effect.gen(function* () {
        const other = yield* makeNodes(1, url)
        const got = yield* other.on(0, collect)
        const id = "run_other" as RunId
        yield* eventually(
          Effect.gen(function* () {
            for (const text of ["", "{", "[]", `{"type":"run"}`, `{"type":"else"}`])
              yield* sql.notify("agentd", text)
            yield* other.on(0, publish({ type: "run", id }))
            return ids(got).includes(id)
          }),
          "the signal has come"
        )
        assert.deepStrictEqual([...new Set(got.map(({ type }) => type))].sort(), [
          "budget",
          "cron",
          "lost",
          "run",
          "runs",
          "webhooks"
        ])
      }).pipe(Effect.scoped)
      yield* eventually(
        Effect.map(
          sql`select pid from pg_stat_activity
            where datname = current_database() and application_name = 'agentd listen'`,
          ({ length }) => length === 1
        ),
        "one connection listens"
      )
    })
  )
}

if (Postgres.hasPostgres) describe("Signals between nodes on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Signals between nodes on PostgreSQL"), suite)
