import * as Effect from "effect/Effect"

/**
 * Does it for all of these together, and where that dies for each half of them, down to one: so what one of them is to
 * blame for is its matter alone.
 */
export const byHalves = <A, E, R>(
  items: ReadonlyArray<A>,
  together: (items: ReadonlyArray<A>) => Effect.Effect<void, E, R>,
  toBlame: (item: A, defect: unknown) => Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> => {
  const [first] = items
  if (first === undefined) return Effect.void
  return Effect.catchDefect(together(items), (defect) => {
    if (items.length === 1) return toBlame(first, defect)
    const half = items.length >> 1
    return Effect.andThen(
      byHalves(items.slice(0, half), together, toBlame),
      byHalves(items.slice(half), together, toBlame)
    )
  })
}
