import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { EventBatch, NumberedEvent } from "../../Schemas/RunEvent.ts"

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
  let wake: (() => void) | undefined

  const take = Effect.callback<EventBatch, Cause.Done>((resume) => {
    const taken = takeAll()
    if (taken !== undefined) return resume(taken)
    wake = () => resume(takeAll() ?? Cause.done())
  })
  /** Undefined where there is nothing yet. */
  const takeAll = () => {
    const [first, ...more] = pending
    if (first === undefined) return ended ? Cause.done() : undefined
    pending = []
    return Effect.succeed<EventBatch>([first, ...more])
  }
  const tell = () => {
    const call = wake
    wake = undefined
    call?.()
  }

  return {
    offer: (event) =>
      Effect.sync(() => {
        if (left || ended) return
        const joined = pending.length < joinFrom ? undefined : join(pending.at(-1), event)
        if (joined === undefined) pending.push(event)
        else pending[pending.length - 1] = joined
        tell()
      }),
    end: Effect.sync(() => {
      ended = true
      tell()
    }),
    stream: Stream.fromPull(Effect.succeed(take)).pipe(
      Stream.ensuring(
        Effect.sync(() => {
          left = true
          pending = []
        })
      )
    )
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
