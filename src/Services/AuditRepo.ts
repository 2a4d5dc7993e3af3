import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { AuditEntry, StoredAuditEntry } from "../Schemas/Audit.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { AuditEntryId, WorkspaceId } from "../Schemas/Ids.ts"

/**
 * The audit log. Most entries are written by other repositories, each with the change that it is of (`Audited`).
 * Nothing changes an entry; it is forgotten when it is old.
 */
export class AuditRepo extends Context.Service<
  AuditRepo,
  {
    /** Writes entries of what changes nothing else, in one statement. */
    readonly add: (entries: ReadonlyArray<StoredAuditEntry>) => Effect.Effect<void, Unavailable>
    /** Newest first, those behind (older than) `after` alone. */
    readonly list: (filter: {
      readonly workspaceId: WorkspaceId
      readonly after: AuditEntryId | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<AuditEntry>, Unavailable>
    /** Forgets up to `limit` entries, the oldest first, of before a moment, and says how many. */
    readonly prune: (before: Date, limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/AuditRepo") {}
