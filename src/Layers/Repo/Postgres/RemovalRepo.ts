import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Removal } from "../../../Schemas/Removal.ts"
import { RemovalRepo } from "../../../Services/RemovalRepo.ts"
import { Database } from "./Database.ts"
import { isMarked, type Markable } from "./Removed.ts"
import { returnedRow, rows } from "./Rows.ts"

const removals = rows(Removal)

/** Where others name it, and what becomes of them: they name nothing, or go with it. */
interface Naming {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly isOwned: boolean
}

const naming = (table: string, column: string): Naming => ({ table, key: "id", column, isOwned: false })
const owned = (table: string, column: string, key = "id"): Naming => ({ table, key, column, isOwned: true })

/** All that names each kind: the foreign keys that there are, which a test compares. */
export const namings: Readonly<
  Record<Removal["kind"], { readonly table: Markable; readonly by: ReadonlyArray<Naming> }>
> = {
  agent: {
    table: "agents",
    by: [
      owned("run_counts", "agent_id", "ctid"),
      naming("cron_jobs", "agent_id"),
      naming("conversations", "agent_id"),
      naming("runs", "agent_id")
    ]
  },
  providerKey: {
    table: "provider_keys",
    by: [
      naming("workspaces", "default_provider_key_id"),
      naming("agents", "provider_key_id"),
      naming("runs", "provider_key_id")
    ]
  },
  cronJob: {
    table: "cron_jobs",
    by: [
      owned("cron_backfills", "cron_job_id", "ctid"),
      owned("cron_backlogs", "cron_job_id", "ctid"),
      owned("cron_fires", "cron_job_id", "ctid"),
      owned("run_counts", "cron_job_id", "ctid"),
      naming("runs", "cron_job_id")
    ]
  },
  conversation: {
    table: "conversations",
    by: [owned("runs", "conversation_id"), owned("messages", "conversation_id")]
  },
  webhook: {
    table: "webhooks",
    by: [
      owned("webhook_deliveries", "webhook_id"),
      owned("webhook_queues", "webhook_id", "ctid"),
      owned("webhook_wakes", "webhook_id", "ctid")
    ]
  }
}

export const layer = Layer.effect(
  RemovalRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const kinds = Object.entries(namings).map(
      ([kind, { table }]) =>
        sql`(select ${kind}::text as kind, id, deleted_at from ${sql(table)} where ${sql.literal(isMarked)})`
    )

    /** Rows that others hold are passed by: so no two wait for each other, whatever they hold. */
    const letGo = (id: string, { column, isOwned, key, table }: Naming, limit: number) => {
      const chosen = sql`${sql(key)} = any(array(
        select ${sql(key)} from ${sql(table)} where ${sql(column)} = ${id}
        limit ${limit} for ${sql.literal(isOwned ? "update" : "no key update")} skip locked))`
      return Effect.map(
        isOwned
          ? sql`delete from ${sql(table)} where ${chosen} returning 1`
          : sql`update ${sql(table)} set ${sql(column)} = null where ${chosen} returning 1`,
        ({ length }) => length
      )
    }

    return RemovalRepo.of({
      pending: (limit) =>
        query(
          removals(sql`
            select kind, id from (${sql.join(" union all ", false)(kinds)}) marked
            order by deleted_at, id limit ${limit}`)
        ),
      advance: ({ id, kind }, limit) => {
        const { by, table } = namings[kind]
        const isNamed = by.map(
          (each) => sql`exists (select from ${sql(each.table)} where ${sql(each.column)} = ${id})`
        )
        return query(
          sql.withTransaction(
            Effect.gen(function* () {
              // Another node may be at it: there is one at a time.
              const isOurs = yield* returnedRow(sql`
                select id from ${sql(table)} where id = ${id} and deleted_at is not null
                for no key update skip locked`)
              if (!isOurs) return 0
              for (const each of by) {
                const count = yield* letGo(id, each, limit)
                if (count > 0) return count
              }
              yield* sql`
                delete from ${sql(table)} where id in (
                  select id from ${sql(table)}
                  where id = ${id} and not (${sql.join(" or ", false)(isNamed)}) for update skip locked)`
              return 0
            })
          )
        )
      }
    })
  })
)
