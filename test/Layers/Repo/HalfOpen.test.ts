import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Application from "../../../src/Layers/Application.ts"
import * as Ring from "../../../src/Layers/SecretBox/Ring.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { type Signal, Signals } from "../../../src/Services/Signals.ts"
import { layerNode } from "../../support/Backends.ts"
import { freezingProxy } from "../../support/FreezingProxy.ts"
import * as Postgres from "../../support/Postgres.ts"
import { layerScriptedInference, makeGate, makeTenant, ScriptedModel } from "../../support/Service.ts"
import { eventually, pause } from "../../support/Until.ts"

/** Within so long a connection that is lost without a word is noticed. */
const limitMillis = 30_000
const stepMillis = 500
/** An hour: nothing is noticed because leases are renewed, unless they are for another reason. */
const leaseMillis = 3_600_000

/** A node whose way to the database can be lost, and another on the same database. */
const makeTwo = Effect.gen(function* () {
  const url = yield* Postgres.migratedDatabase
  const detour = new URL(url)
  const proxy = yield* freezingProxy(Number(detour.port))
  detour.port = String(proxy.port)
  const node = (address: string, worker: string) =>
    Layer.fresh(
      Application.layerWith(layerScriptedInference).pipe(
        Layer.provideMerge(
          Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })
        ),
        Layer.provideMerge(ScriptedModel.layer),
        Layer.provideMerge(layerNode(Postgres.client(address), { worker, leaseMillis }))
      )
    )
  const one = yield* Layer.build(
    Layer.fresh(Engine.layerTasks.pipe(Layer.provideMerge(node(detour.href, "one"))))
  )
  const other = yield* Layer.build(node(url, "other"))
  const onOne = Effect.provideContext(one)
  const onOther = Effect.provideContext(other)
  const heard: Array<Signal> = []
  const signals = yield* onOne(Effect.flatMap(Signals, ({ subscribe }) => subscribe))
  yield* Effect.forkScoped(Stream.runForEach(signals, (signal) => Effect.sync(() => void heard.push(signal))))
  /** Sends a signal from the other node and says whether any has come. */
  const isHeard = Effect.flatMap(Signals, ({ publish }) => publish({ type: "cron" })).pipe(
    onOther,
    Effect.andThen(pause),
    Effect.map(() => heard.some(({ type }) => type === "cron"))
  )
  yield* eventually(isHeard, "one hears the other")
  /** The one node hears nothing any more, and nobody tells it. */
  const lose = Effect.gen(function* () {
    // Whatever waits for it at the end of the test, waits no longer.
    yield* Effect.addFinalizer(() => proxy.thaw)
    assert.strictEqual(yield* proxy.freezeThoseOf("agentd listen"), 1)
    yield* pause
    heard.length = 0
  })
  return { heard, isHeard, lose, onOne, onOther }
})

/** The clock goes on for as long as it may take, slowly when it is about time, and then stands still. */
const inTime = Effect.fnUntraced(function* <E, R>(is: Effect.Effect<boolean, E, R>, what: string) {
  let moved = 0
  let passes = 0
  const move = Effect.suspend(() => {
    moved += stepMillis
    return TestClock.adjust(stepMillis)
  })
  yield* eventually(
    Effect.gen(function* () {
      if (yield* is) return true
      if ((moved < limitMillis / 2 || ++passes % 20 === 0) && moved < limitMillis) yield* move
      return false
    }),
    what,
    120_000
  )
})

const suite = () => {
  it.effect("is replaced within 30 s, and what is sent then is heard", () =>
    Effect.gen(function* () {
      const { heard, isHeard, lose } = yield* makeTwo
      yield* lose
      assert.isFalse(yield* isHeard)
      yield* inTime(isHeard, "one hears the other again")
      assert.include(
        heard.map(({ type }) => type),
        "runs",
        "what was sent meanwhile is lost: look"
      )
    })
  )

  it.effect("keeps no cancellation from the node that executes the run for longer than that", () =>
    Effect.gen(function* () {
      const { lose, onOne, onOther } = yield* makeTwo
      const model = yield* onOne(ScriptedModel)
      const reached = yield* makeGate
      let isLetGo = false
      model.script = () =>
        Stream.unwrap(
          Effect.as(
            reached.open,
            Stream.ensuring(
              Stream.never,
              Effect.sync(() => {
                isLetGo = true
              })
            )
          )
        )
      const { user, workspaceId } = yield* onOne(makeTenant())
      const { id } = yield* onOne(
        Effect.flatMap(Runs, (runs) => runs.create(user, { workspaceId, prompt: "work" }))
      )
      yield* reached.wait
      yield* lose
      yield* onOther(Effect.flatMap(Runs, (runs) => runs.cancel(user, id)))
      yield* inTime(
        Effect.sync(() => isLetGo),
        "the model is let go"
      )
    })
  )

  it.effect("is not taken for lost while it answers, however little is said", () =>
    Effect.gen(function* () {
      const { heard, isHeard, onOther } = yield* makeTwo
      const sql = yield* onOther(PgClient)
      const askedAt = Effect.map(
        sql<{ at: string }>`
          select max(query_start)::text as at from pg_stat_activity
          where datname = current_database() and application_name = 'agentd listen' and query = 'select 1'`,
        ([row]) => row?.at
      )
      const seen: Array<string> = []
      for (let round = 0; round < 6; round++) {
        const before = yield* askedAt
        yield* TestClock.adjust(10_000)
        yield* eventually(
          Effect.map(askedAt, (at) => at !== before),
          "it is asked"
        )
        // What is heard after that comes behind the answer.
        seen.push(...heard.splice(0).map(({ type }) => type))
        yield* eventually(isHeard, "one hears the other")
      }
      assert.notInclude(seen, "runs", "nobody had to listen anew")
    })
  )
}

if (Postgres.hasPostgres) describe("A connection for signals that is lost without a word", suite)
else describe.skip(Postgres.skipped("A connection for signals that is lost without a word"), suite)
