import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { SealedSample } from "../Schemas/SealedSample.ts"

/** Looks at what is stored sealed, whoever's it is. */
export class SealedRepo extends Context.Service<
  SealedRepo,
  {
    /** The oldest and the newest of each kind, by the ids of their rows: the same where there is one. */
    readonly samples: Effect.Effect<ReadonlyArray<SealedSample>, Unavailable>
  }
>()("agentd/Services/SealedRepo") {}
