import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import type { Policy } from "../../../Schemas/Policy.ts"

const jsonOf = (policy: Policy | null) => (policy === null ? null : PgTypes.jsonb(policy))

/** Replaces the policy of a row where it is still what it was. */
export const setPolicy = (
  sql: PgClient,
  table: "agents" | "cron_jobs",
  id: string,
  { after, before }: { readonly before?: Policy | null; readonly after: Policy | null },
  at: Date
) => sql`
  update ${sql(table)} set policy = ${jsonOf(after)}::jsonb, updated_at = ${at}
  where id = ${id} and deleted_at is null
    ${before === undefined ? sql.literal("") : sql`and policy is not distinct from ${jsonOf(before)}::jsonb`}
  returning id`
