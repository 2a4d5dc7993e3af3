import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { ReferenceGone } from "../../../Schemas/Errors.ts"
import { firstRow } from "./Rows.ts"

/** Where the rows are that fields name. */
const tables = {
  projectId: "projects",
  agentId: "agents",
  cronJobId: "cron_jobs",
  providerKeyId: "provider_keys",
  defaultProviderKeyId: "provider_keys"
} as const

type Field = keyof typeof tables

/** Who has to be a member that is not disabled. */
interface NamedMember {
  readonly workspaceId: string
  readonly userId: string
}

/** What a row that is written names, by its fields; `member` is told as `createdBy`. */
export type Names = { readonly [F in Field]?: string | null | undefined } & {
  readonly member?: NamedMember | null
}

const fields = Object.keys(tables) as ReadonlyArray<Field>
const gone = firstRow(Schema.Struct({ field: Schema.String }))

/**
 * `… gone as (…)`: the fields that name what is not there, or is being removed. What is there stays until the
 * transaction ends.
 */
export const goneOf = (sql: PgClient, names: Names): Fragment => {
  const given = fields.flatMap((field) => (names[field] == null ? [] : [{ field, id: names[field] }]))
  const locked = given.map(({ field, id }) => {
    const there = tables[field] === "projects" ? sql.literal("") : sql.literal("and deleted_at is null")
    return sql`
      ${sql(`named_${field}`)} as materialized (
        select id from ${sql(tables[field])} where id = ${id} ${there} for key share), `
  })
  if (names.member != null) locked.push(memberOf(sql, names.member))
  const missing = [...given, ...(names.member == null ? [] : [{ field: "createdBy" }])].map(
    ({ field }) =>
      sql`union all select ${field}::text where not exists (select from ${sql(`named_${field}`)})`
  )
  return sql`${sql.join("", false)(locked)} gone as materialized (
    select null::text as field where false ${sql.join(" ", false)(missing)})`
}

/** First the user, as a deletion does. */
const memberOf = (sql: PgClient, { userId, workspaceId }: NamedMember) => sql`
  "named_createdBy" as materialized (
    select u.id from users u join workspace_members m on m.user_id = u.id
    where u.id = ${userId} and u.disabled_at is null and m.workspace_id = ${workspaceId}
    for share of u for key share of m), `

/** The row that `insertSelect` takes where nothing that is named is gone. */
export const unlessGone = (sql: PgClient) => sql`(select 1) one where not exists (select from gone)`

/**
 * What `write` returned; where it returned nothing since something that it names is gone, that is the error. `changed`
 * says whether there was anything to change.
 */
export const orGone =
  (sql: PgClient, names: Names, changed: Fragment = sql.literal("true")) =>
  <A, E>(
    write: Effect.Effect<Option.Option<A>, E>
  ): Effect.Effect<Option.Option<A>, E | ReferenceGone | SqlError | Schema.SchemaError> =>
    Effect.flatMap(write, (written) =>
      Option.isSome(written)
        ? Effect.succeed(written)
        : Effect.flatMap(
            gone(sql`with ${goneOf(sql, names)} select field from gone where ${changed} limit 1`),
            (found): Effect.Effect<Option.Option<A>, ReferenceGone> =>
              Option.isSome(found)
                ? Effect.fail(new ReferenceGone({ field: found.value.field }))
                : Effect.succeed(written)
          )
    )

/** As `orGone`, for what always writes. */
export const orOnlyGone =
  (sql: PgClient, names: Names) =>
  <A, E>(write: Effect.Effect<Option.Option<A>, E>) =>
    Effect.flatMap(orGone(sql, names)(write), (written) =>
      Option.isSome(written)
        ? Effect.succeed(written.value)
        : Effect.die(new Error("a statement wrote nothing"))
    )
