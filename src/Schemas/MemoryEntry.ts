import * as Schema from "effect/Schema"
import { MemoryEntryId, ProjectId, RunId, UserId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

export const MemoryKey = text(1, 255)
export const MemoryValue = text(0, 100_000)
export const MemoryCategory = text(1, 100)

/**
 * What a search compares with its query, so that it takes no longer the more there is: the latest entries up to so
 * many, the last of which may go over so many bytes.
 */
export const searchedEntries = 10_000
export const searchedBytes = 8 * 1024 * 1024

/** How much of a value is looked up by its words, in code points: the index of PostgreSQL says the same. */
export const indexedLength = 8192

/** A search took longer than it may; other work of the store goes on. */
export class MemoryTooSlow extends Schema.TaggedError<MemoryTooSlow>()("MemoryTooSlow", {}) {}

/** What of a text, or of a query, counts as words; a query that is long has those of its beginning. */
export const spaced = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, " ")
export const wordsOfQuery = (query: string): string =>
  spaced(query.length <= longestWords ? query : query.slice(0, longestWords).replace(/\S+$/u, ""))

const longestWords = 200

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

/** Who wrote what an entry holds: a user with a request of its own, or a run or chat turn that called `remember`. */
export const MemoryAuthor = Schema.Union([
  Schema.Struct({ userId: UserId }),
  Schema.Struct({ runId: RunId })
]).annotate({ identifier: "MemoryAuthor" })
export type MemoryAuthor = typeof MemoryAuthor.Type

/** An entry and who wrote it last; null of one that was written before that was kept. */
export const MemoryDetail = Schema.Struct({
  ...MemoryEntry.fields,
  author: Schema.NullOr(MemoryAuthor)
}).annotate({ identifier: "MemoryDetail" })
export type MemoryDetail = typeof MemoryDetail.Type

export const UpsertMemory = Schema.Struct({
  workspaceId: WorkspaceId,
  key: MemoryKey,
  value: MemoryValue,
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  category: Schema.optionalKey(Schema.NullOr(MemoryCategory))
}).annotate({ identifier: "UpsertMemory" })
export type UpsertMemory = typeof UpsertMemory.Type
