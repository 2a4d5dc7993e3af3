import { mostWorkspaces, type NewAuditEntry, type StoredAuditEntry } from "../../../Schemas/Audit.ts"
import type { UserId, WorkspaceId } from "../../../Schemas/Ids.ts"
import type { Entries } from "../Entries.ts"

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

const workspacesOf = (
  { members }: Pick<Tables, "members">,
  { scope }: NewAuditEntry
): ReadonlyArray<WorkspaceId> =>
  "workspaceId" in scope
    ? [scope.workspaceId]
    : Array.from(members.values())
        .filter(({ userId }) => userId === scope.userId)
        .sort(
          (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.workspaceId < b.workspaceId ? -1 : 1)
        )
        .slice(0, mostWorkspaces)
        .map(({ workspaceId }) => workspaceId)

/** Keeps the entries of a change; the rows that it has changed have these ids. */
export const keepEntries = (
  tables: Tables,
  { entries, isEach }: Entries,
  changed: ReadonlyArray<string>
): void => {
  const [first] = changed
  if (first === undefined) return
  for (const entry of entries) {
    const { targetId } = entry
    if (isEach && (targetId === null || !changed.includes(targetId))) continue
    for (const workspaceId of workspacesOf(tables, entry)) {
      keepEntry(tables, { ...entry, workspaceId, targetId: targetId ?? first })
    }
  }
}
