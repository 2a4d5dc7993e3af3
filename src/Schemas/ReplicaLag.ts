/** How far the log of the primary had been written at a moment: `at` in milliseconds of one clock, `position` in bytes. */
interface Sample {
  readonly at: number
  readonly position: number
}

/** What is known of a replica. No clock of a server is in it. */
export interface ReplicaLag {
  /** Until when all that was written on the primary is on the replica; null: not known. */
  readonly freshAt: number | null
  /** What the replica has not come to yet, oldest first. */
  readonly ahead: ReadonlyArray<Sample>
}

/** No read of a replica is older, in milliseconds. */
export const staleMillis = 1_000

/** What is kept of a replica that is far behind: then its lag is known less exactly. */
const mostAhead = 128

export const unknown: ReplicaLag = { freshAt: null, ahead: [] }

/** What is known when the replica has told, after this sample was taken, that it is at `replayed`. */
export const observe = (lag: ReplicaLag, sample: Sample, replayed: number): ReplicaLag => {
  const samples = [...lag.ahead, sample]
  const reached = samples.findLast(({ position }) => position <= replayed)
  const ahead = samples.filter(({ at, position }) => position > replayed && at > (reached?.at ?? -1))
  return {
    freshAt: reached?.at ?? lag.freshAt,
    ahead: ahead.length > mostAhead ? ahead.filter((_, index) => index % 2 === 0) : ahead
  }
}

/** Whether the replica shows what was written until `since`, and nothing older than `staleMillis`. */
export const isFresh = ({ freshAt }: ReplicaLag, now: number, since: number): boolean =>
  freshAt !== null && now - freshAt <= staleMillis && freshAt > since
