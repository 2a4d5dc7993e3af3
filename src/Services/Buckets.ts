import { type Bucket, holds, levelAt, type Rate, type RatePolicy, rateOf } from "../Schemas/Rate.ts"

/** Of more, the one that was not used for longest counts as full. */
const mostBuckets = 50_000

/** The buckets of one policy by whose they are; moments are milliseconds of the monotonic clock. */
export interface Buckets {
  readonly peek: (key: string, at: number) => Rate
  readonly size: () => number
  /** Takes one out, if there is one; `owes`: also where there is none, up to a minute's worth. How it stands then. */
  readonly take: (
    key: string,
    at: number,
    owes?: boolean
  ) => { readonly isTaken: boolean; readonly rate: Rate }
}

/** Those that are full are forgotten: of a minute's worth only who has asked within a minute is remembered. */
export const newBuckets = (policy: RatePolicy): Buckets => {
  const buckets = new Map<string, Bucket>()

  /** In order of their last use, a few at a time: more than there are new ones. */
  const forget = (at: number) => {
    let left = 4
    for (const [key, bucket] of buckets) {
      const isFull = levelAt(policy, bucket, at) >= holds(policy)
      if (left-- === 0 || !(isFull || buckets.size > mostBuckets)) return
      buckets.delete(key)
    }
  }

  return {
    size: () => buckets.size,
    peek: (key, at) => rateOf(policy, levelAt(policy, buckets.get(key), at)),
    take: (key, at, owes = false) => {
      const before = levelAt(policy, buckets.get(key), at)
      const isTaken = before >= 1
      const level = isTaken || owes ? Math.max(before - 1, -policy.perMinute) : before
      buckets.delete(key)
      buckets.set(key, { level, at })
      forget(at)
      return { isTaken, rate: rateOf(policy, level) }
    }
  }
}
