/** Finds all of some words at once, in a time that grows with the text alone (Aho and Corasick). */
export interface Automaton {
  readonly step: (state: number, byte: number) => number
  /** How much of a word has been seen in this state. */
  readonly depth: ReadonlyArray<number>
  /** The length of the longest word that ends in this state, or 0. */
  readonly found: ReadonlyArray<number>
  /** 1 for each byte that a word begins with, else 0. */
  readonly begins: Uint8Array
  readonly longest: number
}

export const automatonOf = (words: ReadonlyArray<ReadonlyArray<number>>): Automaton => {
  const next = new Map<number, number>()
  const depth = [0]
  const found = [0]
  const ways: Array<readonly [parent: number, byte: number, state: number]> = []
  for (const word of words) {
    let state = 0
    for (const byte of word) {
      const key = state * 256 + byte
      const known = next.get(key)
      if (known === undefined) {
        const made = depth.length
        ways.push([state, byte, made])
        next.set(key, made)
        depth.push((depth[state] ?? 0) + 1)
        found.push(0)
        state = made
      } else state = known
    }
    found[state] = word.length
  }
  const roots = Array.from({ length: 256 }, (_, byte) => next.get(byte) ?? 0)
  const fallback = depth.map(() => 0)
  const step = (from: number, byte: number): number => {
    let state = from
    while (state !== 0) {
      const to = next.get(state * 256 + byte)
      if (to !== undefined) return to
      state = fallback[state] ?? 0
    }
    return roots[byte] ?? 0
  }
  // Shorter ones first: what a state falls back to is shorter than itself.
  ways.sort(([, , a], [, , b]) => (depth[a] ?? 0) - (depth[b] ?? 0))
  for (const [parent, byte, state] of ways) {
    if (parent === 0) continue
    const shorter = step(fallback[parent] ?? 0, byte)
    fallback[state] = shorter
    if (found[state] === 0) found[state] = found[shorter] ?? 0
  }
  const begins = Uint8Array.from(roots, (state) => (state === 0 ? 0 : 1))
  return { step, depth, found, begins, longest: Math.max(0, ...words.map(({ length }) => length)) }
}
