import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { SealedSample } from "../Schemas/SealedSample.ts"
import type { Place, SealedText, StoredMetadata } from "../Schemas/Secrets.ts"

/** Looks at what is stored sealed, whoever's it is. */
export class SealedRepo extends Context.Service<
  SealedRepo,
  {
    /**
     * The oldest and the newest of each kind, by the ids of their rows: the same where there is one. Secrets before a
     * rotation are left out: one whose key is lost is there until the next, and no reason not to start.
     */
    readonly samples: Effect.Effect<ReadonlyArray<SealedSample>, Unavailable>
    /** The texts of one place, by the ids of their rows; those behind `after` alone. */
    readonly page: (range: {
      readonly place: Place
      readonly after: string | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<SealedText>, Unavailable>
    /**
     * Atomic: writes `to` where `from` still is, and nothing else of the row. False where something else is there, or
     * nothing. It waits for changes of a connector that are under way, so that none of them writes `from` again.
     */
    readonly replace: (text: {
      readonly place: Place
      readonly id: string
      readonly from: string
      readonly to: string
    }) => Effect.Effect<boolean, Unavailable>
    /** The metadata of connectors that have some, by their ids; those behind `after` alone. */
    readonly metadata: (range: {
      readonly after: string | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<StoredMetadata>, Unavailable>
    /** As `replace`, of the whole metadata. */
    readonly replaceMetadata: (
      stored: StoredMetadata & { readonly to: Schema.JsonObject }
    ) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/SealedRepo") {}
