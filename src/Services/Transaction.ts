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
  }
>()("agentd/Services/Transaction") {}
