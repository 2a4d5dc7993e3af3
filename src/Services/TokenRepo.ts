import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { TokenId, UserId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { SignInLink } from "../Schemas/Session.ts"
import type { OwnedToken, Reading, Token } from "../Schemas/Token.ts"
import type { User } from "../Schemas/User.ts"

/** A token, and the user whose it is. */
export interface TokenOwner {
  readonly token: Token
  readonly user: User
}

/** Bearer tokens, by the hash of their secret. */
export class TokenRepo extends Context.Service<
  TokenRepo,
  {
    /**
     * False, and nothing is kept, where its parent does not work at `createdAt` or is not of the same user. One that
     * is being revoked is waited for: what it makes is revoked with it, or not made. With `most` it is refused where the
     * user has as many that are neither revoked nor expired by then as the best plan of the workspaces that the user owns
     * allows, exactly.
     */
    readonly insert: (token: Token, most?: ByPlan) => Effect.Effect<boolean, PlanLimitExceeded | Unavailable>
    /** At most one: hashes are unique. Also expired and revoked ones. */
    readonly findByHash: (hash: string) => Effect.Effect<Option.Option<Token>, Unavailable>
    /** As `findByHash`, with the user whose token it is; none where that user is disabled or gone. */
    readonly findOwned: (hash: string) => Effect.Effect<Option.Option<TokenOwner>, Unavailable>
    /** Those that are neither revoked nor expired at `now`, oldest first. */
    readonly list: (userId: UserId, now: Date) => Effect.Effect<ReadonlyArray<Token>, Unavailable>
    /**
     * Those of all users, or of one, that are neither revoked nor expired at `now`, by id (which is by age); those
     * behind `after` alone.
     */
    readonly page: (range: {
      readonly userId: UserId | null
      readonly after: TokenId | null
      readonly limit: number
      readonly now: Date
    }) => Effect.Effect<ReadonlyArray<OwnedToken>, Unavailable>
    /** Also expired and revoked ones. */
    readonly find: (id: TokenId) => Effect.Effect<Option.Option<OwnedToken>, Unavailable>
    readonly insertLink: (link: SignInLink) => Effect.Effect<void, Unavailable>
    /** Whom a link signs in that has neither expired at `now` nor signed anybody in; none who is disabled. */
    readonly findLinked: (hash: string, now: Date) => Effect.Effect<Option.Option<User>, Unavailable>
    /**
     * Keeps a token that the link of its user makes, which is gone with that: of those who do so at the same time one
     * does. False, and nothing is kept, where `findLinked` finds none at `createdAt`.
     */
    readonly insertByLink: (token: Token, linkHash: string) => Effect.Effect<boolean, Unavailable>
    /** Forgets all tokens of a user, sessions of browsers among them, and the links. */
    readonly removeOf: (userId: UserId) => Effect.Effect<void, Unavailable>
    /**
     * With all that it made, and what that made. Idempotent: the first moment of revocation stays. False when the user
     * has no such token.
     */
    readonly revoke: (userId: UserId, id: TokenId, at: Date) => Effect.Effect<boolean, Unavailable>
    /**
     * Of these those that may go on: the token works at `now`, and its user is a member of the workspace and not
     * disabled. In no order.
     */
    readonly mayRead: (
      readings: ReadonlyArray<Reading>,
      now: Date
    ) => Effect.Effect<ReadonlyArray<Reading>, Unavailable>
    /** Forgets up to `limit` of those that ended before a moment, the oldest ends first, as many links, and says how many. */
    readonly prune: (before: Date, limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/TokenRepo") {}
