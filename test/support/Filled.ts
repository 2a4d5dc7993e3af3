import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { tablesOf } from "../../src/Layers/Repo/Postgres/Transfer/Catalogue.ts"
import { unicode } from "./Fixtures.ts"

const rowsEach = 3

interface Rule {
  readonly table: string
  readonly column: string
  readonly target: string | null
  /** The first value that a check of the column admits. */
  readonly admitted: string | null
  readonly required: boolean
}

/** What is worth knowing of each column that a value has to respect. */
const rulesOf = (sql: PgClient) => sql<Rule>`
  select c.relname as "table", a.attname as "column", a.attnotnull as required,
    max(t.relname) filter (where k.contype = 'f') as target,
    max(substring(pg_get_constraintdef(k.oid) from '''([^'']+)''')) filter (where k.contype = 'c') as admitted
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_constraint k on k.conrelid = c.oid and k.conkey = array[a.attnum] and k.contype in ('c', 'f')
  left join pg_class t on t.oid = k.confrelid
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
  group by 1, 2, 3`

/** What checks over several columns need: turns have a conversation. */
const needed: Readonly<Record<string, string>> = { runs: "conversations" }
const chosen: Readonly<Record<string, string>> = {
  "runs.kind": "turn",
  // What triggers have made is there already.
  "run_slots.generation": "0",
  "owner_slots.generation": "0"
}

const valueOf = (type: string, seed: string, n: number): unknown => {
  if (type === "jsonb") return JSON.stringify({ seed, text: unicode, list: [n, null, 1.5] })
  if (type === "boolean") return n % 2 === 0
  if (/^timestamp/.test(type)) return `2026-11-20T08:00:00.12345${n}Z`
  if (type === "date") return `2026-11-2${n}`
  if (/^(integer|bigint|smallint|numeric|double)/.test(type)) return n
  if (type === "bytea") return "\\x00ff"
  return `${seed}_${n} ${unicode}`
}

/**
 * Puts rows into every table that there is, by what its columns are: a new table or column is filled without
 * a word here. The references of a row point to the row of the same number.
 */
export const fill = Effect.gen(function* () {
  const sql = yield* PgClient
  const tables = yield* tablesOf(sql)
  const rules = new Map((yield* rulesOf(sql)).map((rule) => [`${rule.table}.${rule.column}`, rule]))
  const filled = new Set<string>()
  const isReady = ({ columns, name }: (typeof tables)[number]) =>
    (needed[name] === undefined || filled.has(needed[name])) &&
    columns.every((column) => {
      const rule = rules.get(`${name}.${column.name}`)
      return !rule?.required || rule.target === null || filled.has(rule.target)
    })
  while (filled.size < tables.length) {
    const table = tables.find((candidate) => !filled.has(candidate.name) && isReady(candidate))
    if (table === undefined) throw new Error("tables that need each other can't be filled")
    const columns = table.columns.filter(({ isIdentity }) => !isIdentity)
    for (let n = 1; n <= rowsEach; n++) {
      const values = columns.map(({ name, type }) => {
        const rule = rules.get(`${table.name}.${name}`)
        const target = rule?.target ?? null
        if (target !== null) return filled.has(target) ? `${target}.id_${n} ${unicode}` : null
        return chosen[`${table.name}.${name}`] ?? rule?.admitted ?? valueOf(type, `${table.name}.${name}`, n)
      })
      yield* sql`
        insert into ${sql(table.name)} (${sql.csv(columns.map(({ name }) => sql`${sql(name)}`))})
        values (${sql.csv(columns.map(({ type }, index) => sql`${values[index] === null ? null : String(values[index])}::text::${sql.literal(type)}`))})
        on conflict do nothing`
    }
    filled.add(table.name)
  }
  yield* sql`update runs set status = 'PENDING'`
  yield* sql`update runs set kind = 'task', conversation_id = null, reply_id = null where id not like '%_2 %'`
  yield* sql`update runs set status = 'RUNNING', not_before = null, worker = 'node_x', lease_until = now() where id like '%_1 %'`
  return tables
})

/** All rows, table by table, and everything of the schema that an import touches. */
export const snapshot = Effect.gen(function* () {
  const sql = yield* PgClient
  const rows: Record<string, ReadonlyArray<string>> = {}
  for (const { name } of yield* tablesOf(sql)) {
    const found = yield* sql<{ row: string }>`
      select row_to_json(t)::text as row from ${sql(name)} t order by 1`
    rows[name] = found.map(({ row }) => row)
  }
  const schema = yield* sql`
    select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = current_schema()::regnamespace and contype <> 'n'
    union all
    select tgrelid::regclass::text, tgname, tgenabled::text from pg_trigger where not tgisinternal
    order by 1, 2, 3`
  return { rows, schema }
})
