import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"

/** Whether the store of the repositories answers, and would take writes. Nothing is written to find out. */
export class DatabaseHealth extends Context.Service<
  DatabaseHealth,
  { readonly check: Effect.Effect<void, Unavailable> }
>()("agentd/Services/DatabaseHealth") {}
