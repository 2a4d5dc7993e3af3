interface Identified<Id> {
  readonly id: Id
}

/**
 * The one that is selected: the wanted one while it waits, and the oldest as long as nobody wants one. Where the wanted one
 * went by itself none is: a key that was meant for it decides about no other.
 */
export const selectedOf = <Id>(
  waiting: ReadonlyArray<Identified<Id>>,
  wanted: Id | undefined
): Id | undefined => (wanted === undefined ? waiting[0]?.id : waiting.find(({ id }) => id === wanted)?.id)

/** Those that waited and no longer do, so that others have moved to where they were. */
export const goneOf = <A extends Identified<unknown>>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const left = new Set(after.map(({ id }) => id))
  return before.filter(({ id }) => !left.has(id))
}

/** Which comes to be selected when this one goes: the next, or the one before where it was the last. */
export const neighbourOf = <Id>(waiting: ReadonlyArray<Identified<Id>>, gone: Id): Id | undefined => {
  const index = waiting.findIndex(({ id }) => id === gone)
  return (waiting[index + 1] ?? waiting[index - 1])?.id
}
