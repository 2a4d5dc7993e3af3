import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { StoredIdempotencyKey } from "../Schemas/Idempotency.ts"
import type { UserId } from "../Schemas/Ids.ts"

export type NewIdempotencyKey = Omit<StoredIdempotencyKey, "createdAt" | "expiresAt">

/** Which keys were used for requests, and what was answered (CONTRACT.md section 9). Times are by the clock of the store. */
export class IdempotencyRepo extends Context.Service<
  IdempotencyRepo,
  {
    /**
     * Within a transaction: whether this one has the key to itself until it ends, and what is known of the key, unless
     * it is expired. It never waits for another that has it (`isFree` is false then); a store that has one transaction
     * at a time has none.
     */
    readonly take: (
      id: string
    ) => Effect.Effect<
      { readonly isFree: boolean; readonly known: Option.Option<StoredIdempotencyKey> },
      Unavailable
    >
    /** What is known of a key, unless it is expired. */
    readonly find: (id: string) => Effect.Effect<Option.Option<StoredIdempotencyKey>, Unavailable>
    /** False, and nothing is changed, where the key is known and not expired. */
    readonly insert: (key: NewIdempotencyKey, millis: number) => Effect.Effect<boolean, Unavailable>
    /** Whatever was known of the key. */
    readonly replace: (key: NewIdempotencyKey, millis: number) => Effect.Effect<void, Unavailable>
    /** Forgets all of a user. */
    readonly removeOf: (userId: UserId) => Effect.Effect<void, Unavailable>
    /** Forgets up to `limit` that are expired, those first that are so for longest, and says how many. */
    readonly prune: (limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/IdempotencyRepo") {}
