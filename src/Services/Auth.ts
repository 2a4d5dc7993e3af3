import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unauthenticated, Unavailable } from "../Schemas/Errors.ts"
import type { UserId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Caller, Token } from "../Schemas/Token.ts"
import type { User } from "../Schemas/User.ts"

export interface Issued {
  readonly token: Token
  readonly secret: Redacted.Redacted
}

/** Who is calling (specification, Authentication). */
export class Auth extends Context.Service<
  Auth,
  {
    /** The user of a bearer token or `session` cookie, and the token. One sentence for all that is wrong with it. */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<Caller, Unauthenticated | Unavailable>
    /** Ends the token with this secret, if the user has one, and all that it made. */
    readonly revoke: (userId: UserId, secret: Redacted.Redacted) => Effect.Effect<void, Unavailable>
    /** Makes the code of a link, of 256 random bits, that signs a user in once. It is in the answer and nowhere else. */
    readonly issueLink: (
      userId: UserId
    ) => Effect.Effect<{ readonly code: Redacted.Redacted; readonly expiresAt: Date }, Unavailable>
    /** Whom the code signs in. One sentence for all that is wrong with it. */
    readonly linked: (code: Redacted.Redacted) => Effect.Effect<User, Unauthenticated | Unavailable>
    /** Makes a token by a code, which is used up by it, for whom it signs in. It has no token that it ends with. */
    readonly issueByLink: (
      code: Redacted.Redacted,
      options: { readonly userId: UserId; readonly name: string; readonly expiresAt: Date }
    ) => Effect.Effect<Issued, Unauthenticated | Unavailable>
    /** Makes a token of 256 random bits that no other has made. The secret is in the answer and nowhere else. */
    readonly issue: (options: {
      readonly userId: UserId
      readonly name: string
      readonly expiresAt: Date | null
    }) => Effect.Effect<Issued, Unavailable>
    /**
     * The same by the token of a caller: it ends with that one at the latest, and is revoked with it. Refused where
     * that one works no more. `most` as in `TokenRepo`.
     */
    readonly issueBy: (
      caller: Caller,
      options: { readonly name: string; readonly expiresAt: Date | null; readonly most?: ByPlan }
    ) => Effect.Effect<Issued, PlanLimitExceeded | Unauthenticated | Unavailable>
  }
>()("agentd/Services/Auth") {}
