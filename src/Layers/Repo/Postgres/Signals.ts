import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schema from "effect/Schema"
import { Signal, Signals } from "../../../Services/Signals.ts"
import { make as makeLocal } from "../InMemory/Signals.ts"
import { Database } from "./Database.ts"

const channel = "agentd"
const retryMillis = 500
const closeMillis = 500

const encode = Schema.encodeSync(Schema.fromJsonString(Signal))
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Signal))

/**
 * Signals between nodes by NOTIFY, over a connection of its own that is made again when it breaks. The
 * embedded database has one process and one connection: signals stay within.
 */
export const layer = Layer.effect(
  Signals,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const local = yield* makeLocal
    if (sql.config.stream !== undefined) return local

    const listen = Effect.gen(function* () {
      const client = yield* PgClient.makeClient({ ...sql.config, applicationName: "agentd listen" })
      const notifications = yield* client.listen(channel)
      // What was sent while nobody listened is lost: look.
      yield* local.publish({ type: "runs" })
      yield* local.publish({ type: "cron" })
      while (true) {
        const { payload } = yield* Queue.take(notifications)
        const signal = decode(payload)
        if (Option.isSome(signal)) yield* local.publish(signal.value)
      }
    })
    const listening = yield* Effect.scoped(listen).pipe(
      Effect.provide(Reactivity.layer),
      Effect.catchCause((cause) => Effect.logDebug("not listening", cause)),
      Effect.andThen(Effect.sleep(retryMillis)),
      Effect.forever,
      Effect.forkDetach
    )
    // A server that is frozen does not answer the goodbye either.
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        listening.interruptUnsafe()
        return Effect.timeoutOption(Effect.interruptible(Fiber.await(listening)), closeMillis)
      })
    )

    return Signals.of({
      publish: (signal) =>
        query(sql.notify(channel, encode(signal))).pipe(
          Effect.catchCause((cause) => Effect.logDebug("a signal was not sent", cause))
        ),
      subscribe: local.subscribe
    })
  })
)
