import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"

/** What keeps the store from forgetting old versions of rows: each makes all that changes often slower to read. */
export class Snapshots extends Context.Service<
  Snapshots,
  {
    /**
     * For how long the oldest snapshot has been held, in seconds, as far as may be seen: by a statement or transaction
     * of anybody, by a prepared transaction, or by a replication slot, of which it counts from when it was first seen.
     */
    readonly oldestSeconds: Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/Snapshots") {}
