import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { RateLimited, Unauthenticated, Unavailable } from "../Schemas/Errors.ts"
import type { Rate } from "../Schemas/Rate.ts"
import type { Caller } from "../Schemas/Token.ts"

/** How often this node is asked, by tokens and by who has none (CONTRACT.md section 10). */
export class Rates extends Context.Service<
  Rates,
  {
    /**
     * Runs `authenticate` for a credential of the current request, as often as its token and its address may ask: to
     * be called once for each request. A refused credential spends from the bucket of the address. Once that is
     * empty, credentials that did not work lately are `RateLimited` without being looked at; one that did is. What is
     * found out of the rate is told to `CurrentRequest`.
     */
    readonly admit: <C extends Caller>(
      secret: Redacted.Redacted,
      authenticate: Effect.Effect<C, Unauthenticated | Unavailable>
    ) => Effect.Effect<C, RateLimited | Unauthenticated | Unavailable>
    /** How the bucket of the address of the current request stands; undefined: there is no limit. */
    readonly ofAddress: Effect.Effect<Rate | undefined>
  }
>()("agentd/Services/Rates") {}
