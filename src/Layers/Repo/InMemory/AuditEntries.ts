import { createHash } from "node:crypto"
import { type AuditScope, mostWorkspaces, ofRows, type StoredAuditEntry } from "../../../Schemas/Audit.ts"
import type { AuditEntryId, UserId, WorkspaceId } from "../../../Schemas/Ids.ts"
import { type Entries, hashedOfId, keptOfId } from "../Entries.ts"

/** Of the tables, those that an entry needs. */
interface Tables {
  readonly auditEntries: Map<string, StoredAuditEntry>
  readonly members: ReadonlyMap<
    string,
    { readonly workspaceId: WorkspaceId; readonly userId: UserId; readonly createdAt: Date }
  >
}

/** Once: whoever does not know whether it is there writes it again. */
export const keepEntry = (
  { auditEntries }: Tables,
  { id, workspaceId, ...entry }: StoredAuditEntry
): void => {
  const key = `${workspaceId} ${id}`
  const { action, actor, address, at, requestId, targetId } = entry
  if (auditEntries.has(key)) return
  auditEntries.set(key, { id, workspaceId, at, actor, action, targetId, requestId, address })
}

/** A row that a change has made, changed or taken away. */
export interface Changed {
  readonly id: string
  readonly workspaceId: WorkspaceId | null
}

const workspacesOf = ({ members }: Pick<Tables, "members">, scope: AuditScope): ReadonlyArray<WorkspaceId> =>
  "workspaceId" in scope
    ? [scope.workspaceId]
    : Array.from(members.values())
        .filter(({ userId }) => userId === scope.userId)
        .sort(
          (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.workspaceId < b.workspaceId ? -1 : 1)
        )
        .slice(0, mostWorkspaces)
        .map(({ workspaceId }) => workspaceId)

const idOf = (entry: AuditEntryId, row: string) =>
  `${entry.slice(0, keptOfId)}${createHash("md5").update(`${entry}${row}`).digest("hex").slice(0, hashedOfId)}` as AuditEntryId

/** Keeps the entries of a change, which has changed these rows. */
export const keepEntries = (
  tables: Tables,
  { entries, isEach }: Entries,
  changed: ReadonlyArray<Changed>
): void => {
  const [first] = changed
  if (first === undefined) return
  for (const entry of entries) {
    const { scope, targetId } = entry
    if (isEach && !changed.some(({ id }) => id === targetId)) continue
    if (scope === ofRows) {
      for (const { id, workspaceId } of changed)
        if (workspaceId !== null)
          keepEntry(tables, { ...entry, id: idOf(entry.id, id), workspaceId, targetId: id })
    } else {
      for (const workspaceId of workspacesOf(tables, scope)) {
        keepEntry(tables, { ...entry, workspaceId, targetId: targetId ?? first.id })
      }
    }
  }
}

/** The rows that are new, other or gone; those without an id by their keys. */
export const changedIn = (
  tables: ReadonlyArray<ReadonlyMap<string, unknown>>,
  before: ReadonlyArray<ReadonlyMap<string, unknown>>
): ReadonlyArray<Changed> =>
  tables.flatMap((table, index) => {
    const known = before[index] ?? new Map<string, unknown>()
    const keys = new Set([...table.keys(), ...known.keys()])
    return Array.from(keys)
      .filter((key) => table.get(key) !== known.get(key))
      .map((key) => {
        const row = table.get(key) ?? known.get(key)
        return { id: textIn(row, "id") ?? key, workspaceId: textIn(row, "workspaceId") as WorkspaceId | null }
      })
  })

const textIn = (row: unknown, field: string): string | null => {
  const value = typeof row === "object" && row !== null ? Reflect.get(row, field) : undefined
  return typeof value === "string" ? value : null
}
