import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SealedSample } from "../../../Schemas/SealedSample.ts"
import { SealedRepo } from "../../../Services/SealedRepo.ts"
import { Database } from "./Database.ts"
import { rows } from "./Rows.ts"

const samples = rows(SealedSample)

/** Where secrets are: a kind, and the text in a row of its table. Headers of a connector are sealed apart. */
const places = [
  ["provider key", "provider_keys", "sealed_api_key"],
  ["connector", "connectors", "sealed_credential"],
  [
    "connector",
    "connectors",
    "case when jsonb_typeof(metadata->'headers') = 'string' then metadata->>'headers' end"
  ]
] as const

export const layer = Layer.effect(
  SealedRepo,
  Effect.map(Database, ({ query, sql }) => {
    const selects = places.flatMap(([kind, table, text]) =>
      ["asc", "desc"].map(
        (order) => `
          (select '${kind}' as kind, ${text} as sealed, ${order === "desc"} as newest
          from ${table} where ${text} is not null order by id ${order} limit 1)`
      )
    )
    return SealedRepo.of({ samples: query(samples(sql`${sql.literal(selects.join(" union all "))}`)) })
  })
)
