import * as Effect from "effect/Effect"

/** Only ends what hangs: whatever tests wait for comes much sooner, also where thirty others compute. */
const hangsMillis = 180_000
const pauseMillis = 5

/** Lets the event loop turn. */
export const pause = Effect.promise(() => new Promise<void>((done) => setTimeout(done, pauseMillis)))

/**
 * Waits until it is so, for what tells nobody when it happens. Looks every few milliseconds by the clock of
 * the machine, also in a test on another clock.
 */
export const eventually = Effect.fnUntraced(function* <E, R>(
  is: Effect.Effect<boolean, E, R>,
  what: string,
  limitMillis = hangsMillis
) {
  const limit = performance.now() + limitMillis
  while (!(yield* is)) {
    if (performance.now() > limit) return yield* Effect.die(new Error(`still not: ${what}`))
    yield* pause
  }
})

/** The same for promises; answers how long it took. */
export const until = async (
  is: () => boolean | Promise<boolean>,
  what: string,
  limitMillis?: number
): Promise<number> => {
  const startedAt = performance.now()
  const asked = Effect.promise(async () => is())
  await Effect.runPromise(eventually(asked, what, limitMillis))
  return performance.now() - startedAt
}
