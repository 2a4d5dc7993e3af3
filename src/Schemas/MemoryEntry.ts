import * as Schema from "effect/Schema"
import { MemoryEntryId, ProjectId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

export const MemoryKey = text(1, 255)
export const MemoryValue = text(0, 100_000)
export const MemoryCategory = text(1, 100)

/** The category of a new entry that names none (specification, Memory entry). */
export const defaultCategory = "general"

export const MemoryEntry = Schema.Struct({
  id: MemoryEntryId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  key: Schema.String,
  value: Schema.String,
  category: Schema.String,
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "MemoryEntry" })
export type MemoryEntry = typeof MemoryEntry.Type

export const UpsertMemory = Schema.Struct({
  workspaceId: WorkspaceId,
  key: MemoryKey,
  value: MemoryValue,
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  category: Schema.optionalKey(Schema.NullOr(MemoryCategory))
}).annotate({ identifier: "UpsertMemory" })
export type UpsertMemory = typeof UpsertMemory.Type
