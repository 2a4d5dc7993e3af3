import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { RunId } from "../../../Schemas/Ids.ts"
import { Signal, Signals } from "../../../Services/Signals.ts"
import { make as makeLocal } from "../InMemory/Signals.ts"
import { whileAnswering } from "./Answering.ts"
import { Database } from "./Database.ts"
import { Direct } from "./Direct.ts"
import * as Joined from "./Joined.ts"

const channel = "agentd"
const retryMillis = 500
/** How often a connection that listens is asked whether it is there, and how long it may take to answer. */
const askMillis = 10_000
const answerMillis = 5_000

/** Of a payload, which may have less than 8,000 bytes. */
const mostBytes = 7_900

/** Of one run alone it says so as versions before did, which know of no `ids` and pass over what they do not know. */
const Sent = Schema.Union([
  Signal,
  Schema.Struct({ type: Schema.Literals(["watch", "events", "await", "settled"]), id: RunId })
])
const encode = Schema.encodeSync(Schema.fromJsonString(Sent))
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Sent))

/** A signal as it is sent: of many runs in as many payloads as it takes. */
const payloadsOf = (signal: Signal): ReadonlyArray<string> => {
  if (!("ids" in signal)) return [encode(signal)]
  const [first, ...rest] = signal.ids
  if (rest.length === 0) return [encode({ type: signal.type, id: first })]
  const whole = encode(signal)
  if (Buffer.byteLength(whole) <= mostBytes) return [whole]
  const half = signal.ids.length >> 1
  return [signal.ids.slice(0, half), signal.ids.slice(half)].flatMap(([head, ...tail]) =>
    head === undefined ? [] : payloadsOf({ type: signal.type, ids: [head, ...tail] })
  )
}

const signalOf = (sent: typeof Sent.Type): Signal =>
  "id" in sent && sent.type !== "run" ? { type: sent.type, ids: [sent.id] } : sent

/**
 * Signals between nodes by NOTIFY, over a connection of its own that is made again when it breaks, and when it has
 * not answered for 15 s: of a way that is lost without a word, who only listens is never told. The embedded database
 * has one process and one connection: signals stay within.
 */
export const layer = Layer.effect(
  Signals,
  Effect.gen(function* () {
    const database = yield* Database
    const { query, sql } = database
    const local = yield* makeLocal
    if (sql.config.stream !== undefined) {
      return Signals.of({ ...local, publish: (signal) => sql.afterCommit(local.publish(signal)) })
    }
    const config = (yield* Direct) ?? sql.config

    const listen = Effect.fnUntraced(function* (answered: Latch.Latch) {
      const connection = yield* PgConnection.make({ ...config, applicationName: "agentd listen" })
      const session = yield* connection.pin
      const notifications = yield* session.listen(channel)
      // What was sent while nobody listened is lost: look.
      yield* local.publish({ type: "runs" })
      yield* local.publish({ type: "cron" })
      yield* local.publish({ type: "webhooks" })
      yield* local.publish({ type: "budget", what: "set" })
      yield* local.publish({ type: "lost" })
      const receive = Effect.gen(function* () {
        const { payload } = yield* Queue.take(notifications)
        const signal = decode(payload)
        if (Option.isSome(signal)) yield* local.publish(signalOf(signal.value))
      })
      const ask = Effect.andThen(answered.open, Effect.delay(session.query("select 1"), askMillis))
      yield* Effect.raceFirst(Effect.forever(receive), Effect.forever(ask))
    })

    const listenOnce = whileAnswering(listen, askMillis + answerMillis)
    const silent = Effect.logWarning("the connection that listens does not answer: it is replaced")
    yield* Effect.andThen(listenOnce, silent).pipe(
      Effect.catchCause((cause) => Effect.logDebug("not listening", cause)),
      Effect.andThen(Effect.sleep(retryMillis)),
      Effect.forever,
      Effect.forkScoped
    )

    const send = (payloads: ReadonlyArray<string>) =>
      query(sql`
        select pg_notify(${channel}, payload)
        from jsonb_array_elements_text(${sql.json([...new Set(payloads)])}) as sent (payload)`)

    // What many tell at the same time is told once: each statement is a lock of all who commit with one.
    const notify = yield* Joined.make(database, {
      together: (signals: ReadonlyArray<ReadonlyArray<string>>) =>
        Effect.map(send(signals.flat()), () => signals.map(() => null)),
      alone: (payloads) => Effect.as(send(payloads), null)
    })

    return Signals.of({
      publish: (signal) =>
        notify(payloadsOf(signal)).pipe(
          Effect.asVoid,
          Effect.catchCause((cause) => Effect.logDebug("a signal was not sent", cause))
        ),
      subscribe: local.subscribe
    })
  })
)
