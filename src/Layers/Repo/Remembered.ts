import type { UserId } from "../../Schemas/Ids.ts"
import { rightsMillis } from "../../Services/Rights.ts"

/** Of more, those that were found first are forgotten. */
const most = 10_000

interface Entry<A> {
  readonly value: A
  readonly userId: UserId
  readonly at: number
}

export interface Remembered<A> {
  readonly size: () => number
  readonly get: (key: string, now: number) => A | undefined
  /** How to keep what is asked from `at` on: unless something is forgotten meanwhile. */
  readonly keeping: (at: number) => (key: string, userId: UserId, value: A) => void
  /** Of these users; undefined: of all. */
  readonly forget: (userIds: ReadonlySet<UserId> | undefined) => void
}

/** What is remembered of users by some key; moments are milliseconds of the monotonic clock. */
export const makeRemembered = <A>(): Remembered<A> => {
  const entries = new Map<string, Entry<A>>()
  /** How often something was forgotten: what was asked before must not come back behind it. */
  let generation = 0
  return {
    size: () => entries.size,
    get: (key, now) => {
      const found = entries.get(key)
      return found !== undefined && now - found.at < rightsMillis ? found.value : undefined
    },
    keeping: (at) => {
      const begun = generation
      return (key, userId, value) => {
        if (generation !== begun) return
        entries.delete(key)
        entries.set(key, { value, userId, at })
        for (const first of entries.keys()) {
          if (entries.size <= most) return
          entries.delete(first)
        }
      }
    },
    forget: (userIds) => {
      generation++
      if (userIds === undefined) entries.clear()
      else for (const [key, { userId }] of entries) if (userIds.has(userId)) entries.delete(key)
    }
  }
}
