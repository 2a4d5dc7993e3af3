import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { Fragment } from "effect/sql/Statement"
import type { PlanLimitExceeded } from "../../../Schemas/Connector.ts"
import { type ByPlan, type Quota, quotaExceeded } from "../../../Schemas/Quotas.ts"
import type { Plan } from "../../../Schemas/Workspace.ts"
import type { Auditing } from "./AuditEntries.ts"
import { insertSelect } from "./Columns.ts"
import { goneOf, type Names } from "./Named.ts"

/** What the column `plan` allows: NULL where that is everything. */
export const mostOf = (sql: PgClient, most: ByPlan | undefined): Fragment =>
  sql`(${sql.json(most ?? {})} ->> plan)::bigint`

/**
 * `…, full_plan as (…)`: a row of `full_plan` where the plan of a workspace allows no more. It locks the count, which
 * triggers keep (migration 20), until the transaction ends: so it is exact.
 */
export const fullPlan = (
  sql: PgClient,
  quota: Quota,
  workspaceId: string,
  most: ByPlan | undefined,
  unless: Fragment = sql.literal("false")
): Fragment => sql`
  quota_count as materialized (
    select count from quota_counts
    where workspace_id = ${workspaceId} and kind = ${quota} and not ${unless} for update
  ), full_plan as materialized (
    select plan, ${quota}::text as quota from workspaces, quota_count
    where id = ${workspaceId} and count >= ${mostOf(sql, most)})`

/** The best plan of the workspaces that a user owns. */
export const planOf = (sql: PgClient, userId: string): Fragment => sql`
  case when exists (
    select from workspace_members m join workspaces w on w.id = m.workspace_id
    where m.user_id = ${userId} and m.role = 'owner' and w.plan = 'pro') then 'pro' else 'free' end`

/** Those that the user made: whom others make an owner has none less. */
export const countOwned = (sql: PgClient, userId: string): Fragment => sql`
  (select count(*)::int from workspaces where created_by = ${userId})`

export const countTokens = (sql: PgClient, userId: string, now: Date): Fragment => sql`
  (select count(*)::int from tokens
   where user_id = ${userId} and revoked_at is null and coalesce(expires_at, 'infinity') > ${now})`

/**
 * `full_plan as (…)`, as above, of a user. Exact where a statement before has locked the user (`lockUser`): one that
 * waits sees nothing of what it has waited for.
 */
export const fullPlanOfUser = (
  sql: PgClient,
  quota: Quota,
  userId: string,
  count: Fragment,
  most: ByPlan,
  unless: Fragment = sql.literal("false")
): Fragment => sql`
  full_plan as materialized (
    select plan, ${quota}::text as quota from (select ${planOf(sql, userId)} as plan) best
    where not ${unless} and ${count} >= ${mostOf(sql, most)})`

/** Whoever gets one more of what is counted of a user waits here. */
export const lockUser = (sql: PgClient, userId: string) =>
  sql`select from users where id = ${userId} for no key update`

/** What a statement returned, of which the first row says which plan is full, if one is. */
export const unlessFull =
  (most: Partial<Record<Quota, ByPlan | undefined>>) =>
  <E>(statement: Effect.Effect<ReadonlyArray<object>, E>) =>
    Effect.flatMap(statement, (returned): Effect.Effect<ReadonlyArray<object>, PlanLimitExceeded> => {
      const [{ full, quota } = {}] = returned as ReadonlyArray<{
        readonly full?: Plan | null
        readonly quota?: Quota
      }>
      return full == null || quota === undefined
        ? Effect.succeed(returned)
        : Effect.fail(quotaExceeded(quota, full, most[quota]?.[full] ?? null))
    })

/** What `unlessFull` reads, behind `full_plan`. */
export const readFull = (sql: PgClient): Fragment =>
  sql.literal(`(select plan as "full", quota from full_plan)`)

interface Row {
  readonly table: string
  readonly quota: Quota
  readonly row: Readonly<Record<string, unknown>>
  readonly workspaceId: string
  readonly most: ByPlan | undefined
  readonly audit: Auditing
}

/** Inserts a row unless the plan of its workspace is full. */
export const insertUnlessFull = (sql: PgClient, { audit, most, quota, row, table, workspaceId }: Row) =>
  Effect.asVoid(
    unlessFull({ [quota]: most })(sql`
      with ${fullPlan(sql, quota, workspaceId, most)}, made as (
        ${insertSelect(table, row, sql.literal("(select 1) one where not exists (select from full_plan)"))}
        returning id)${audit.of("made")}
      select * from ${readFull(sql)} full_plan`)
  )

/** The same for a row that names others; `read` selects it from `changed`. Returns nothing where one of them is gone. */
export const insertNaming = (
  sql: PgClient,
  {
    audit,
    most,
    names,
    quota,
    read,
    row,
    table,
    workspaceId
  }: Row & { readonly names: Names; readonly read: Fragment }
) =>
  unlessFull({ [quota]: most })(sql`
    with ${goneOf(sql, names)},
      ${fullPlan(sql, quota, workspaceId, most, sql.literal("exists (select from gone)"))}, changed as (
        ${insertSelect(
          table,
          row,
          sql.literal(
            "(select 1) one where not exists (select from gone) and not exists (select from full_plan)"
          )
        )} returning *)${audit.of("changed")}
    select * from (${read}) made full join ${readFull(sql)} full_plan on true`)
