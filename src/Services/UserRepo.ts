import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { AlreadyExists, Unavailable } from "../Schemas/Errors.ts"
import type { UserId } from "../Schemas/Ids.ts"
import type { Email, User, UserRecord } from "../Schemas/User.ts"

/** The people and programs that call the service. */
export class UserRepo extends Context.Service<
  UserRepo,
  {
    /** Atomic. `AlreadyExists` when another user has this e-mail. */
    readonly insert: (user: User) => Effect.Effect<void, AlreadyExists | Unavailable>
    readonly find: (id: UserId) => Effect.Effect<Option.Option<User>, Unavailable>
    readonly findByEmail: (email: Email) => Effect.Effect<Option.Option<User>, Unavailable>
    /** Those who are not gone, by id (which is by age), those behind `after` alone. */
    readonly page: (range: {
      readonly after: UserId | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<UserRecord>, Unavailable>
    /**
     * Since when a user can't sign in: `TokenRepo.findOwned` finds no token of one from then on. Null lets him in again.
     * Idempotent: the first moment stays. None when there is no such user.
     */
    readonly setDisabled: (
      id: UserId,
      at: Date | null
    ) => Effect.Effect<Option.Option<UserRecord>, Unavailable>
    /**
     * The user is gone for every reader and can't sign in, and its e-mail is forgotten and free for another. The row
     * stays for what names it: conversations, and decisions on approvals. False when there was no such user.
     */
    readonly remove: (id: UserId, at: Date) => Effect.Effect<boolean, Unavailable>
    /** Of all who ever were: also those who are gone. */
    readonly count: Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/UserRepo") {}
