import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unauthenticated, Unavailable } from "../Schemas/Errors.ts"
import type { UserId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Caller, Token } from "../Schemas/Token.ts"

/** Who is calling (specification, Authentication). */
export class Auth extends Context.Service<
  Auth,
  {
    /** The user of a bearer token or `session` cookie, and the token. One sentence for all that is wrong with it. */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<Caller, Unauthenticated | Unavailable>
    /** Ends the token with this secret, if there is one. */
    readonly revoke: (secret: Redacted.Redacted) => Effect.Effect<void, Unavailable>
    /** Makes a token of 256 random bits. The secret is in the answer and nowhere else. `most` as in `TokenRepo`. */
    readonly issue: (options: {
      readonly userId: UserId
      readonly name: string
      readonly expiresAt: Date | null
      readonly most?: ByPlan
    }) => Effect.Effect<
      { readonly token: Token; readonly secret: Redacted.Redacted },
      PlanLimitExceeded | Unavailable
    >
  }
>()("agentd/Services/Auth") {}
