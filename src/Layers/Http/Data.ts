import * as Effect from "effect/Effect"
import { CurrentUser } from "../../Api/Authorization.ts"
import type { User } from "../../Schemas/User.ts"

/** What an endpoint does for the user who calls, wrapped in `{"data": …}`. */
export const data = <A, E, R>(
  perform: (user: User) => Effect.Effect<A, E, R>
): Effect.Effect<{ readonly data: A }, E, R | CurrentUser> =>
  Effect.map(Effect.flatMap(CurrentUser, perform), (value) => ({ data: value }))

export const removal = <E, R>(perform: (user: User) => Effect.Effect<void, E, R>) =>
  data((user) => Effect.as(perform(user), { success: true as const }))
