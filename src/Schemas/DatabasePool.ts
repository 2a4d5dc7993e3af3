/** How a node divides the connections that it may have. */
export interface PoolShares {
  /** For all that is not a list. */
  readonly work: number
  /** For lists; 0: they take those of the work. */
  readonly lists: number
}

/**
 * Three in ten of the connections, and at least one, are for lists alone: however many read long ones, what is left goes
 * on. Of a single one there is nothing to divide.
 */
export const sharesOf = (connections: number): PoolShares => {
  const lists = connections < 2 ? 0 : Math.max(1, Math.floor(connections * 0.3))
  return { work: connections - lists, lists }
}
