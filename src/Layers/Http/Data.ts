import * as Effect from "effect/Effect"
import { CurrentUser } from "../../Api/Authorization.ts"
import type { Caller } from "../../Schemas/Token.ts"

/** What an endpoint does for the user who calls, wrapped in `{"data": …}`. */
export const data = <A, E, R>(
  perform: (caller: Caller) => Effect.Effect<A, E, R>
): Effect.Effect<{ readonly data: A }, E, R | CurrentUser> =>
  Effect.map(Effect.flatMap(CurrentUser, perform), (value) => ({ data: value }))

export const removal = <E, R>(perform: (caller: Caller) => Effect.Effect<void, E, R>) =>
  data((caller) => Effect.as(perform(caller), { success: true as const }))
