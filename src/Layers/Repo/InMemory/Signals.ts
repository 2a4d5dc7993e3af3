import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { type Signal, Signals } from "../../../Services/Signals.ts"

const mostUnread = 4096

/** Signals within one process. */
export const make = Effect.map(PubSub.sliding<Signal>(mostUnread), (signals) =>
  Signals.of({
    publish: (signal) => Effect.asVoid(PubSub.publish(signals, signal)),
    subscribe: Effect.map(PubSub.subscribe(signals), Stream.fromSubscription)
  })
)

export const layer = Layer.effect(Signals, make)
