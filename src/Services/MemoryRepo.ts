import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { MemoryEntryId, ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import type { MemoryAuthor, MemoryDetail, MemoryEntry, MemoryTooSlow } from "../Schemas/MemoryEntry.ts"
import type { Quotas } from "../Schemas/Quotas.ts"
import type { Pages, WorkspaceFilter } from "./Pages.ts"

/** Without `projectId`: of every project and of none. */
export interface MemoryFilter extends WorkspaceFilter {
  readonly category?: string | undefined
  readonly key?: string | undefined
}

/** The memory of a workspace: values by key, per project or for the workspace as a whole. */
export class MemoryRepo extends Context.Service<
  MemoryRepo,
  Pages<MemoryEntry, MemoryFilter> & {
    /**
     * Atomic: however many write one key at once, one row stays. An existing entry keeps `id`,
     * `createdAt` and, where none is given, its category; a new one gets `id` and `general`. With `most` it is refused
     * where the workspace would have more entries or bytes by it than its plan allows, exactly; a value that gets no
     * longer never is.
     */
    readonly upsert: (
      entry: {
        readonly id: MemoryEntryId
        readonly workspaceId: WorkspaceId
        readonly projectId: ProjectId | null
        readonly key: string
        readonly value: string
        readonly category: string | null
        readonly author: MemoryAuthor
        readonly at: Date
      },
      most?: Pick<Quotas, "memoryEntries" | "memoryBytes">
    ) => Effect.Effect<MemoryEntry, PlanLimitExceeded | Unavailable>
    readonly find: (id: MemoryEntryId) => Effect.Effect<Option.Option<MemoryDetail>, Unavailable>
    /** False when it was gone. */
    readonly remove: (id: MemoryEntryId) => Effect.Effect<boolean, Unavailable>
    /**
     * Up to `limit` entries of the project and of the workspace as a whole whose key, value or category
     * contains `query` (case does not matter; all without one), the latest written first. Bounded: compared
     * are the latest entries up to `searchedBytes`, and as much of those that have all words of the query in
     * key, category or the first `indexedLength` characters of the value. `MemoryTooSlow` where the store
     * is there, but did not finish this search within `Settings.memorySearchMillis`.
     */
    readonly search: (filter: {
      readonly workspaceId: WorkspaceId
      readonly projectId: ProjectId | null
      readonly query?: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<MemoryDetail>, MemoryTooSlow | Unavailable>
  }
>()("agentd/Services/MemoryRepo") {}
