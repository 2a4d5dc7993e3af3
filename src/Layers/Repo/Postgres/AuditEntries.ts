import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Fragment, Statement } from "effect/sql/Statement"
import { mostWorkspaces, type NewAuditEntry, ofRows, StoredAuditEntry } from "../../../Schemas/Audit.ts"
import { type Entries, hashedOfId, keptOfId } from "../Entries.ts"
import { insertSelect, makeColumns, recordset } from "./Columns.ts"

const table = "audit_entries"
const columns = makeColumns(StoredAuditEntry, { actor: "json" })
const plain = makeColumns(StoredAuditEntry, {
  actor: "json",
  targetId: { read: "target_id" },
  workspaceId: { read: "workspace_id" }
})

/** Writes the entries of a change with it, in its statement. */
export interface Auditing {
  /**
   * `, audited as (…)`: if the statement has changed something, which is a row of `changed`, with its `id`, and with its
   * `workspace_id` where each row has an entry of its own (`auditedAll`).
   */
  readonly of: (changed: string) => Fragment
  /** A change that returns what it has changed, as above. */
  readonly with: (statement: Statement<unknown>) => Statement<unknown>
}

/** Rows out of `where`, of entries that are called `e`. */
export const insertEntries = (
  sql: PgClient,
  entries: ReadonlyArray<StoredAuditEntry>,
  where: Fragment = sql.literal("true")
) =>
  insertSelect(
    table,
    columns.from("e"),
    sql`${recordset(sql, table, entries.map(columns.json))} e where ${where}`
  )

/** In the log of the workspace, or of each workspace of the user, or one of each row in the log of its workspace. */
const insertOne = (sql: PgClient, entry: NewAuditEntry, changed: string) => {
  const { id, scope, targetId } = entry
  const row = { ...plain.row(entry), target_id: targetId ?? sql.literal("c.id") }
  if (scope === ofRows) {
    const own = sql`${id.slice(0, keptOfId)}::text || left(md5(${id}::text || c.id), ${hashedOfId}::int)`
    const each = { ...row, id: own, workspace_id: sql.literal("c.workspace_id") }
    return insertSelect(table, each, sql.literal(`${changed} c`))
  }
  const from = sql`(select * from ${sql.literal(changed)} limit 1) c`
  return "workspaceId" in scope
    ? insertSelect(table, { ...row, workspace_id: scope.workspaceId }, from)
    : insertSelect(
        table,
        { ...row, workspace_id: sql.literal("m.workspace_id") },
        sql`${from}, (
          select workspace_id from workspace_members where user_id = ${scope.userId}
          order by created_at, workspace_id limit ${mostWorkspaces}) m`
      )
}

/** The workspaces or users that entries are in the log of, and what they are about. */
export const namesOf = ({ entries }: Entries): ReadonlyArray<string> =>
  entries.flatMap(({ scope, targetId }) => [
    ...(scope === ofRows ? [] : ["workspaceId" in scope ? scope.workspaceId : scope.userId]),
    ...(targetId === null ? [] : [targetId])
  ])

export const auditing = (sql: PgClient, { entries, isEach }: Entries): Auditing => {
  const of = (changed: string) => {
    const [first] = entries
    if (first === undefined) return sql.literal("")
    if (!isEach) return sql`, audited as (${insertOne(sql, first, changed)})`
    const stored = entries.flatMap((entry) =>
      entry.scope !== ofRows && "workspaceId" in entry.scope
        ? [{ ...entry, workspaceId: entry.scope.workspaceId }]
        : []
    )
    const isMade = sql`e.target_id in (select id from ${sql.literal(changed)})`
    return sql`, audited as (${insertEntries(sql, stored, isMade)})`
  }
  return {
    of,
    with: (statement) =>
      entries.length === 0
        ? statement
        : sql`with changed as (${statement})${of("changed")} select * from changed`
  }
}
