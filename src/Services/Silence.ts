import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { monotonicMillisOf } from "./CurrentTime.ts"

/** Something that is to be heard of again and again. */
export interface Heard {
  /** It was heard of now, which is when it answers. */
  readonly heard: () => number
  /** Nobody waits for it any more. */
  readonly leave: () => void
}

interface Waiting {
  readonly millis: number
  readonly onSilence: () => void
  lastHeard: number
}

interface Timer {
  readonly all: Set<Waiting>
  /** When it looks next. */
  nextLook: number
  stop: (() => void) | undefined
}

/** However many fall silent one after the other, it looks no more often. */
const shortestPause = 5

const timers = new WeakMap<Clock.Clock, Timer>()

/**
 * Calls `onSilence` when nothing has been heard for `millis`, by the monotonic clock, and after each such time again. All
 * that wait by a clock share one timer: what is heard sets none.
 */
export const whenSilent = (clock: Clock.Clock, millis: number, onSilence: () => void): Heard => {
  const timer = timerOf(clock)
  const waiting: Waiting = { millis, onSilence, lastHeard: monotonicMillisOf(clock) }
  timer.all.add(waiting)
  if (waiting.lastHeard + millis < timer.nextLook) lookIn(clock, timer, millis)
  return {
    heard: () => {
      waiting.lastHeard = monotonicMillisOf(clock)
      return waiting.lastHeard
    },
    leave: () => {
      if (!timer.all.delete(waiting) || timer.all.size > 0) return
      timer.stop?.()
      timers.delete(clock)
    }
  }
}

/** How many timers there are for all that wait by this clock: one or none. */
export const timersOf = (clock: Clock.Clock): number => (timers.get(clock)?.stop === undefined ? 0 : 1)

const timerOf = (clock: Clock.Clock): Timer => {
  const known = timers.get(clock)
  if (known !== undefined) return known
  const made: Timer = { all: new Set(), nextLook: Number.POSITIVE_INFINITY, stop: undefined }
  timers.set(clock, made)
  return made
}

const lookIn = (clock: Clock.Clock, timer: Timer, millis: number): void => {
  timer.stop?.()
  timer.nextLook = monotonicMillisOf(clock) + millis
  const fiber = Effect.runFork(
    Effect.andThen(
      clock.sleep(Duration.millis(millis)),
      Effect.sync(() => look(clock, timer))
    )
  )
  timer.stop = () => fiber.interruptUnsafe()
}

const look = (clock: Clock.Clock, timer: Timer): void => {
  timer.stop = undefined
  timer.nextLook = Number.POSITIVE_INFINITY
  const now = monotonicMillisOf(clock)
  let next = Number.POSITIVE_INFINITY
  for (const waiting of [...timer.all]) {
    // Another's silence may have been the end of this one.
    if (!timer.all.has(waiting)) continue
    if (waiting.lastHeard + waiting.millis <= now) {
      waiting.lastHeard = now
      waiting.onSilence()
    }
    if (timer.all.has(waiting)) next = Math.min(next, waiting.lastHeard + waiting.millis)
  }
  // One that began to wait meanwhile may have set it already.
  if (next < timer.nextLook) lookIn(clock, timer, Math.max(shortestPause, next - now))
}
