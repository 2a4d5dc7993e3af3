import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { Removal } from "../Schemas/Removal.ts"

/** What is left to do of deletions: rows that still name what is gone let go of it, and at last it is removed. */
export class RemovalRepo extends Context.Service<
  RemovalRepo,
  {
    /** The removals under way, the oldest first, up to `limit`. Costs next to nothing where there are none. */
    readonly pending: (limit: number) => Effect.Effect<ReadonlyArray<Removal>, Unavailable>
    /**
     * Goes on with a removal, by up to `limit` rows: of how many. None where no row named it any more, and it is removed
     * for good, or where others hold what is left. Atomic, and waits for nobody: it may break off anywhere, and be done
     * by several at once.
     */
    readonly advance: (removal: Removal, limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/RemovalRepo") {}
