import * as Effect from "effect/Effect"

const tickMillis = 5

/**
 * What this thread has computed so far: not the time that it waited for a processor that others use. Node.js
 * before 23.9 does not tell, and that time is counted as well.
 */
const computedMillis = () => {
  if (typeof process.threadCpuUsage !== "function") return performance.now()
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

/**
 * How long an effect kept the event loop from turning: at the longest, and in all stops of over 20 ms
 * together.
 */
export const stalls = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const gaps: Array<number> = []
    let last = computedMillis()
    const tick = () => {
      const at = computedMillis()
      gaps.push(at - last)
      last = at
    }
    const timer = setInterval(tick, tickMillis)
    const value = yield* Effect.ensuring(
      effect,
      Effect.sync(() => {
        clearInterval(timer)
        tick()
      })
    )
    const total = gaps.filter((gap) => gap > 20).reduce((sum, gap) => sum + gap, 0)
    return { value, longest: Math.max(...gaps), total }
  })
