import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { WorkspaceId } from "../Schemas/Ids.ts"
import type { RequestFacts } from "./RequestFacts.ts"

/** What has a stored secret: a provider key or a connector. */
export interface SecretOwner {
  readonly id: string
  readonly workspaceId: WorkspaceId
}

/**
 * Takes down for the audit log what changes nothing in the database. It is written behind whoever tells it, many in
 * one statement: nobody waits for it, and what a node has not written when it is killed is lost.
 */
export class AuditNotes extends Context.Service<
  AuditNotes,
  {
    /** A secret is opened: told once of each execution of a run; and not at all where there is no run. */
    readonly opened: (secret: SecretOwner) => Effect.Effect<void>
    /** Somebody has a connector looked at, for which its secret is opened. */
    readonly looked: (secret: SecretOwner) => Effect.Effect<void>
    /**
     * A request was answered: if a right of owners was refused it, that is told, once a minute of each user and
     * workspace. All are counted in the metrics.
     */
    readonly answered: (facts: RequestFacts) => Effect.Effect<void>
  }
>()("agentd/Services/AuditNotes") {}
