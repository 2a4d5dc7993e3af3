import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * Runs a program whose process can be stopped: `freeze` moves all that a clock says by so many milliseconds, and no
 * timer has run out yet, as a process finds it that wakes up. Sleeps end later by as much.
 */
export const withFreezes = <A, E, R>(
  use: (freeze: (millis: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => {
    let slept = 0
    const freeze = (millis: number) =>
      Effect.sync(() => {
        slept += millis
      })
    const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(slept) * 1_000_000n
    const millis = () => clock.currentTimeMillisUnsafe() + slept
    const frozen: Clock.Clock = Object.assign(Object.create(clock), {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() + BigInt(slept) * 1_000_000n
    })
    return Effect.provideService(use(freeze), Clock.Clock, frozen)
  })

/**
 * Runs a program whose time of day it can set: `set` moves what the clock on the wall says by so many milliseconds, and
 * nothing else. Sleeps, and whatever is measured without it, go on as before.
 */
export const withSettableClock = <A, E, R>(
  use: (set: (millis: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => {
    let off = 0
    const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(off) * 1_000_000n
    const millis = () => clock.currentTimeMillisUnsafe() + off
    const set = (by: number) =>
      Effect.sync(() => {
        off += by
      })
    // A test clock has more than this, by which tests move it.
    const settable: Clock.Clock = Object.assign(Object.create(clock), {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos)
    })
    return Effect.provideService(use(set), Clock.Clock, settable)
  })
