import * as Effect from "effect/Effect"
import { monotonicMillis } from "../CurrentTime.ts"

const rememberMillis = 60_000

/** What a node knows of the runs of a kind that wait, on whichever node they were made. */
export interface Queue {
  /** Some wait, or just did. */
  readonly seen: Effect.Effect<void>
  /**
   * Whether some may wait for others of their workspace or owner to end: some did within the last minute. Where they
   * begin as they are made, no end of one costs a query.
   */
  readonly mayWait: Effect.Effect<boolean>
  /** Whether some were seen since this was last asked. */
  readonly news: Effect.Effect<boolean>
}

export const make = (): Queue => {
  let seenAt = Number.NEGATIVE_INFINITY
  let isNews = false
  return {
    seen: Effect.map(monotonicMillis, (at) => {
      seenAt = at
      isNews = true
    }),
    news: Effect.sync(() => {
      const wasNews = isNews
      isNews = false
      return wasNews
    }),
    mayWait: Effect.map(monotonicMillis, (at) => at - seenAt < rememberMillis)
  }
}
