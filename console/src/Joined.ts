export interface Row {
  readonly id: string
}

/** The rows of the first page, as it is now, and those behind it that have been read; each row once. */
export const joined = <A extends Row>(
  first: ReadonlyArray<A>,
  behind: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const ids = new Set(first.map(({ id }) => id))
  return [...first, ...behind.filter(({ id }) => !ids.has(id))]
}
