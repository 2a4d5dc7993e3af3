import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { NumberedEvent } from "../../Schemas/RunEvent.ts"
import { type Feed, fed } from "../Relay.ts"

/** From so many unread events on, adjacent deltas are joined. */
const joinFrom = 256

/** Who is told of the events of an execution as they happen, and when it has ended or stopped. */
export interface EventListener {
  /** Never waits. */
  readonly offer: (event: NumberedEvent) => Effect.Effect<void>
  readonly end: Effect.Effect<void>
}

/** The events of one execution on their way to one reader. */
export interface LiveEvents extends EventListener {
  /** Ends after the last event. Reading it a second time is not supported. */
  readonly stream: Stream.Stream<NumberedEvent>
}

/**
 * For a reader that falls behind, adjacent deltas are joined: memory is bounded by the text and the tool
 * results of the execution, however slow the reader is.
 */
export const make: Effect.Effect<LiveEvents> = Effect.sync(() => {
  let pending: Array<NumberedEvent> = []
  let left = false
  let ended = false
  let reader: Parameters<Feed<NumberedEvent>["listen"]>[0] | undefined

  return {
    offer: (event) =>
      Effect.sync(() => {
        if (left || ended) return
        const joined = pending.length < joinFrom ? undefined : join(pending.at(-1), event)
        if (joined === undefined) pending.push(event)
        else pending[pending.length - 1] = joined
        reader?.told()
      }),
    end: Effect.sync(() => {
      ended = true
      reader?.ended()
    }),
    stream: fed({
      take: () => {
        const taken = pending
        pending = []
        return taken
      },
      listen: (calls) => {
        reader = calls
        if (pending.length > 0) calls.told()
        if (ended) calls.ended()
      },
      leave: () => {
        left = true
        pending = []
      }
    })
  }
})

const deltaOf = (numbered: NumberedEvent | undefined) => {
  const data = numbered?.event.data
  return data !== undefined && "status" in data && data.status === "responding" ? data : undefined
}

const join = (last: NumberedEvent | undefined, next: NumberedEvent): NumberedEvent | undefined => {
  const [before, after] = [deltaOf(last), deltaOf(next)]
  return before === undefined || after === undefined
    ? undefined
    : { id: next.id, event: { event: "status", data: { ...after, delta: before.delta + after.delta } } }
}
