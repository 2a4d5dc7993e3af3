import * as Effect from "effect/Effect"
import type { Unavailable } from "../../Schemas/Errors.ts"
import { type LimitExceeded, tooSlow } from "../../Schemas/Limits.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import type { DatabaseHealth } from "../DatabaseHealth.ts"
import { isUnavailable, patiently } from "./Patience.ts"

/**
 * Makes a call, again and again while the store is away, within one limit of `millis` for all tries and the pauses
 * between them (CONTRACT.md section 5). The limit stands still while the store answers nobody: an outage, however
 * long, ends no call, and a call that it refuses alone is not tried for ever.
 */
export const withinLimit = Effect.fnUntraced(function* <A, E, R>(
  call: Effect.Effect<A, E | Unavailable, R>,
  { health, millis, name }: { health: DatabaseHealth["Service"]; millis: number; name: string }
) {
  const exceeded = () => tooSlow("tool_time", `the tool ${name}`, millis)
  let left = millis
  let since = yield* monotonicMillis
  const refused = Effect.gen(function* () {
    const isThere = yield* Effect.match(health.check, { onFailure: () => false, onSuccess: () => true })
    const at = yield* monotonicMillis
    if (isThere) left -= at - since
    since = at
    if (left <= 0) return yield* exceeded()
  })
  const attempt = Effect.suspend(() =>
    Effect.timeoutOrElse(call, { duration: left, orElse: () => Effect.fail(exceeded()) })
  )
  return yield* patiently(
    Effect.tapError(
      attempt,
      (error): Effect.Effect<void, LimitExceeded> => (isUnavailable(error) ? refused : Effect.void)
    )
  )
})
