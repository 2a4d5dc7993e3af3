import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Fragment } from "effect/sql/Statement"
import { sealedField } from "../../../Schemas/ConnectorSecrets.ts"
import { SealedSample } from "../../../Schemas/SealedSample.ts"
import { type Place, SealedText, StoredMetadata } from "../../../Schemas/Secrets.ts"
import { SealedRepo } from "../../../Services/SealedRepo.ts"
import { Database } from "./Database.ts"
import { returnedRow, rows } from "./Rows.ts"

const samples = rows(SealedSample)
const texts = rows(SealedText)
const metadata = rows(StoredMetadata)

const textOf = (member: string) =>
  `case when jsonb_typeof(metadata->'${member}') = 'string' then metadata->>'${member}' end`

/** Where secrets are: a kind, and the text in a row of its table. Of metadata, headers are sealed apart. */
const places = {
  apiKey: { kind: "provider key", table: "provider_keys", text: "sealed_api_key" },
  credential: { kind: "connector", table: "connectors", text: "sealed_credential" },
  headers: { kind: "connector", table: "connectors", text: textOf("headers") },
  metadata: { kind: "connector", table: "connectors", text: textOf(sealedField) },
  webhookSecret: { kind: "webhook", table: "webhooks", text: "nullif(sealed_secret, '')" },
  previousWebhookSecret: { kind: "webhook", table: "webhooks", text: "previous_sealed_secret" }
} as const

/** Those that are a column of a row that nothing else has to be locked for. */
const columns: { readonly [P in Place]?: string } = {
  apiKey: "sealed_api_key",
  webhookSecret: "sealed_secret",
  previousWebhookSecret: "previous_sealed_secret"
}

/** Changes a connector that is as `condition` says. Whoever changes one has its workspace locked, and reads behind that. */
const change = (sql: PgClient, id: string, changed: Fragment, condition: Fragment) =>
  returnedRow(sql`
    with locked as materialized (
      select w.id from connectors c join workspaces w on w.id = c.workspace_id where c.id = ${id}
      for no key update of w)
    update connectors set ${changed}
    where id = ${id} and workspace_id in (select id from locked) and ${condition} returning id`)

export const layer = Layer.effect(
  SealedRepo,
  Effect.map(Database, ({ query, sql }) => {
    const { previousWebhookSecret: _, ...needed } = places
    const selects = Object.values(needed).flatMap(({ kind, table, text }) =>
      ["asc", "desc"].map(
        (order) => `
          (select '${kind}' as kind, ${text} as sealed, ${order === "desc"} as newest
          from ${table} where ${text} is not null order by id ${order} limit 1)`
      )
    )
    return SealedRepo.of({
      samples: query(samples(sql`${sql.literal(selects.join(" union all "))}`)),
      page: ({ after, limit, place }) => {
        const { table, text } = places[place]
        return query(
          texts(sql`
            select id, ${sql.literal(text)} as sealed from ${sql(table)}
            where id > ${after ?? ""} and ${sql.literal(text)} is not null order by id limit ${limit}`)
        )
      },
      replace: ({ from, id, place, to }) => {
        const column = columns[place]
        if (column !== undefined) {
          return query(
            returnedRow(sql`
              update ${sql(places[place].table)} set ${sql(column)} = ${to}
              where id = ${id} and ${sql(column)} = ${from} returning id`)
          )
        }
        const member = place === "headers" ? place : sealedField
        const changed =
          place === "credential"
            ? sql`sealed_credential = ${to}`
            : sql`metadata = jsonb_set(metadata, array[${member}], to_jsonb(${to}::text))`
        return query(change(sql, id, changed, sql`${sql.literal(places[place].text)} = ${from}`))
      },
      metadata: ({ after, limit }) =>
        query(
          metadata(sql`
            select id, metadata::text as metadata from connectors
            where id > ${after ?? ""} and metadata <> '{}'::jsonb order by id limit ${limit}`)
        ),
      // Compared as the text that was read: numbers may lose digits on their way.
      replaceMetadata: ({ id, metadata, to }) =>
        query(
          change(
            sql,
            id,
            sql`metadata = ${JSON.stringify(to)}::text::jsonb`,
            sql`metadata::text = ${metadata}`
          )
        )
    })
  })
)
