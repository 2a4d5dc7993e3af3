import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { TransferError } from "../Schemas/Transfer.ts"

/** Moves everything between databases, in the lines of Schemas/Transfer.ts. */
export class Transfer extends Context.Service<
  Transfer,
  {
    /** Puts the lines of all rows, as of one moment, some at a time; answers how many rows there were. */
    readonly write: <E>(
      put: (lines: ReadonlyArray<string>) => Effect.Effect<void, E>
    ) => Effect.Effect<number, E | TransferError>
    /**
     * Stores all rows or, whatever fails, none; answers how many. Refused where there are rows already.
     * Runs that a node was executing wait for another one then.
     */
    readonly read: <E>(lines: Stream.Stream<string, E>) => Effect.Effect<number, E | TransferError>
  }
>()("agentd/Services/Transfer") {}
