import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { AlreadyExists, Unavailable } from "../Schemas/Errors.ts"
import type { UserId } from "../Schemas/Ids.ts"
import type { Email, User } from "../Schemas/User.ts"

/** The people and programs that call the service. */
export class UserRepo extends Context.Service<
  UserRepo,
  {
    /** Atomic. `AlreadyExists` when another user has this e-mail. */
    readonly insert: (user: User) => Effect.Effect<void, AlreadyExists | Unavailable>
    readonly find: (id: UserId) => Effect.Effect<Option.Option<User>, Unavailable>
    readonly findByEmail: (email: Email) => Effect.Effect<Option.Option<User>, Unavailable>
    readonly count: Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/UserRepo") {}
