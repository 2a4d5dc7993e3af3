import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { type Signal, Signals } from "../../../Services/Signals.ts"
import { Store } from "./Store.ts"

const mostUnread = 4096

/** Signals within one process. */
export const make = Effect.map(PubSub.sliding<Signal>(mostUnread), (signals) =>
  Signals.of({
    publish: (signal) => Effect.asVoid(PubSub.publish(signals, signal)),
    subscribe: Effect.map(PubSub.subscribe(signals), Stream.fromSubscription)
  })
)

export const layer = Layer.effect(
  Signals,
  Effect.gen(function* () {
    const { afterCommit } = yield* Store
    const { publish, subscribe } = yield* make
    return Signals.of({ publish: (signal) => afterCommit(publish(signal)), subscribe })
  })
)
