import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SealedSample } from "../../../Schemas/SealedSample.ts"
import { SealedText } from "../../../Schemas/Secrets.ts"
import { SealedRepo } from "../../../Services/SealedRepo.ts"
import { Database } from "./Database.ts"
import { returnedRow, rows } from "./Rows.ts"

const samples = rows(SealedSample)
const texts = rows(SealedText)

/** Where secrets are: a kind, and the text in a row of its table. Headers of a connector are sealed apart. */
const places = {
  apiKey: { kind: "provider key", table: "provider_keys", text: "sealed_api_key" },
  credential: { kind: "connector", table: "connectors", text: "sealed_credential" },
  headers: {
    kind: "connector",
    table: "connectors",
    text: "case when jsonb_typeof(metadata->'headers') = 'string' then metadata->>'headers' end"
  }
} as const

export const layer = Layer.effect(
  SealedRepo,
  Effect.map(Database, ({ query, sql }) => {
    const selects = Object.values(places).flatMap(({ kind, table, text }) =>
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
        if (place === "apiKey") {
          return query(
            returnedRow(sql`
              update provider_keys set sealed_api_key = ${to}
              where id = ${id} and sealed_api_key = ${from} returning id`)
          )
        }
        const changed =
          place === "credential"
            ? sql`sealed_credential = ${to}`
            : sql`metadata = jsonb_set(metadata, '{headers}', to_jsonb(${to}::text))`
        // Whoever changes a connector has its workspace locked, and reads behind that lock.
        return query(
          returnedRow(sql`
            with locked as materialized (
              select w.id from connectors c join workspaces w on w.id = c.workspace_id where c.id = ${id}
              for no key update of w)
            update connectors set ${changed}
            where id = ${id} and workspace_id in (select id from locked)
              and ${sql.literal(places[place].text)} = ${from} returning id`)
        )
      }
    })
  })
)
