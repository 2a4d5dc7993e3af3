import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import { type Forbidden, InvalidInput, type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { MemoryEntryId, ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import type { MemoryDetail, MemoryEntry, UpsertMemory } from "../Schemas/MemoryEntry.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import * as Listing from "./Listing.ts"
import { type MemoryFilter, MemoryRepo } from "./MemoryRepo.ts"
import { References } from "./References.ts"
import { Settings } from "./Settings.ts"

const tooSlow = Effect.suspend(
  () => new InvalidInput({ error: "query: the memory could not be searched in time; ask for something else" })
)

/** What a caller does with the memory of agents (specification, Memory). */
export class Memory extends Context.Service<
  Memory,
  {
    /** Creates the entry of a key or replaces its value; however many write at once, one stays. */
    readonly upsert: (
      user: User,
      input: UpsertMemory
    ) => Effect.Effect<MemoryEntry, Forbidden | InvalidInput | PlanLimitExceeded | Unavailable>
    readonly list: (
      user: User,
      filter: MemoryFilter & Listing.PageQuery
    ) => Effect.Effect<Listing.Listing<MemoryEntry>, Forbidden | InvalidInput | Unavailable>
    /**
     * What agents recall: up to `limit` entries of the project and of the workspace as a whole that contain `query`, or all, the
     * latest written first (`MemoryRepo.search`). One that takes too long is `InvalidInput`.
     */
    readonly search: (
      user: User,
      filter: {
        readonly workspaceId: WorkspaceId
        readonly projectId?: ProjectId | undefined
        readonly query?: string | undefined
        readonly limit: number
      }
    ) => Effect.Effect<ReadonlyArray<MemoryDetail>, Forbidden | InvalidInput | Unavailable>
    /** With its author. */
    readonly get: (user: User, id: MemoryEntryId) => Effect.Effect<MemoryDetail, NotFound | Unavailable>
    readonly remove: (user: User, id: MemoryEntryId) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("agentd/Services/Memory") {
  static readonly layer = Layer.effect(
    Memory,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const references = yield* References
      const repo = yield* MemoryRepo
      const { quotas } = yield* Settings
      const get = Effect.fnUntraced(function* (user: User, id: MemoryEntryId) {
        return yield* access.visible(user, "memory entry", yield* repo.find(id))
      })
      return Memory.of({
        get,
        upsert: Effect.fnUntraced(function* (user, input) {
          yield* access.member(user, input.workspaceId)
          yield* references.resolve(input.workspaceId, { projectId: input.projectId })
          const entry = {
            id: yield* ids.make<MemoryEntryId>("memoryEntry"),
            workspaceId: input.workspaceId,
            projectId: input.projectId ?? null,
            key: input.key,
            value: input.value,
            category: input.category ?? null,
            author: { userId: user.id },
            at: yield* now
          }
          return yield* repo
            .upsert(entry, quotas)
            .pipe(audited("memory.write", { workspaceId: input.workspaceId }))
        }),
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, { projectId: filter.projectId })
          return yield* Listing.ofPages(repo, filter, filter)
        }),
        search: Effect.fnUntraced(function* (user, { projectId, ...filter }) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, { projectId })
          return yield* repo
            .search({ ...filter, projectId: projectId ?? null })
            .pipe(Effect.catchTag("MemoryTooSlow", () => tooSlow))
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const entry = yield* get(user, id)
          if (!(yield* repo.remove(id).pipe(audited("memory.delete", entry))))
            return yield* notFound("memory entry")
        })
      })
    })
  )
}
