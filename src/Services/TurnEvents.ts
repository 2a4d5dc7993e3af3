import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import { type ChatEvent, isEnd } from "../Schemas/ChatEvent.ts"

/** From so many unread events on, adjacent deltas are joined. */
const crowded = 256

/** The events of one turn on their way to one reader. */
export interface TurnEvents {
  /** Never waits: for a reader that falls behind, adjacent deltas are joined. */
  readonly offer: (event: ChatEvent) => Effect.Effect<void>
  /** Ends after the ending event. Reading it a second time is not supported. */
  readonly stream: Stream.Stream<ChatEvent>
}

/** Memory is bounded by the text and the tool results of the turn, however slow the reader is. */
export const make: Effect.Effect<TurnEvents> = Effect.gen(function* () {
  const latch = yield* Latch.make(false)
  let pending: Array<ChatEvent> = []
  let left = false

  const takeAll = Effect.andThen(
    latch.await,
    Effect.sync(() => {
      const taken = pending
      pending = []
      latch.closeUnsafe()
      return taken
    })
  )

  return {
    offer: (event) =>
      Effect.sync(() => {
        if (left) return
        const joined = pending.length < crowded ? undefined : join(pending.at(-1), event)
        if (joined === undefined) pending.push(event)
        else pending[pending.length - 1] = joined
        latch.openUnsafe()
      }),
    stream: Stream.fromIterableEffectRepeat(takeAll).pipe(
      Stream.takeUntil(isEnd),
      Stream.ensuring(
        Effect.sync(() => {
          left = true
          pending = []
        })
      )
    )
  }
})

const join = (last: ChatEvent | undefined, next: ChatEvent): ChatEvent | undefined =>
  last?.event === "status" &&
  next.event === "status" &&
  last.data.status === "responding" &&
  next.data.status === "responding"
    ? { event: "status", data: { ...next.data, delta: last.data.delta + next.data.delta } }
    : undefined
