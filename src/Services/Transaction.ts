import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"

/** Makes several repository calls one: all of them happen, or none. */
export class Transaction extends Context.Service<
  Transaction,
  {
    /**
     * Executes the effect in one transaction; a failure, defect or interruption rolls it back. Nested
     * calls join the outer one. The whole transaction is bounded in time (`Unavailable` over that).
     */
    readonly atomically: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Unavailable, R>
    /**
     * Does it when the outermost transaction has committed, in the order in which it was asked for, and at once where
     * there is none; never, where that, or the nested one that this is called in, is rolled back. It is lost with the
     * process: what must happen is stored. It waits for nobody, and what goes wrong in it is logged alone.
     */
    readonly afterCommit: <R>(effect: Effect.Effect<void, never, R>) => Effect.Effect<void, never, R>
    /** Whether this is called within one. */
    readonly isOpen: Effect.Effect<boolean>
  }
>()("agentd/Services/Transaction") {}
