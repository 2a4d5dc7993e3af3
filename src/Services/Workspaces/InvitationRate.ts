import * as Effect from "effect/Effect"
import { RateLimited } from "../../Schemas/Errors.ts"
import type { UserId } from "../../Schemas/Ids.ts"
import { monotonicMillis } from "../CurrentTime.ts"

/** Invitations of one user on one node: so many at once, and another with each minute that has passed. */
export const invitationRate = { most: 60, millis: 60_000, users: 10_000 }

const tooMany = new RateLimited({
  error: "email: you have invited too many; there is room for another within a minute",
  retryAfter: 60
})

/** Takes a place, or says that there is none. Who is forgotten first, where there are too many, begins anew. */
export const makeInvitationRate = Effect.sync(() => {
  /** When all places of a user are free again; the user whose turn was longest ago is the first. */
  const free = new Map<UserId, number>()
  return (userId: UserId): Effect.Effect<void, RateLimited> =>
    Effect.flatMap(monotonicMillis, (at) => {
      const freeAt = Math.max(free.get(userId) ?? at, at) + invitationRate.millis
      if (freeAt - at > invitationRate.most * invitationRate.millis) return tooMany
      free.delete(userId)
      free.set(userId, freeAt)
      if (free.size > invitationRate.users) free.delete(free.keys().next().value ?? userId)
      return Effect.void
    })
})
