import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { Fragment } from "effect/sql/Statement"
import { kindOf, StoredRun, Turn } from "../../../Schemas/Run.ts"
import { Usage } from "../../../Schemas/Usage.ts"
import { insertSelect, makeColumns, objectOf, recordset } from "./Columns.ts"
import { unlessMarked } from "./Removed.ts"

/** A run as its table has it: flat. */
const RunRow = Schema.Struct({
  ...Struct.omit(StoredRun.fields, ["turn", "usage"]),
  ...Usage.fields,
  kind: Schema.Literals(["task", "turn"]),
  conversationId: Schema.NullOr(Turn.fields.conversationId),
  replyId: Schema.NullOr(Turn.fields.replyId)
})

const columns = makeColumns(RunRow, {
  answeredBy: "json",
  connectorIds: "json",
  input: "json",
  policy: "json"
})

const rowOf = ({ turn, usage, ...run }: StoredRun): typeof RunRow.Type => ({
  ...run,
  ...usage,
  kind: kindOf({ turn }),
  conversationId: turn?.conversationId ?? null,
  replyId: turn?.replyId ?? null
})

const special = {
  answeredBy: "json",
  connectorIds: "json",
  // What it is may be long, and is not read with each run: `RunRepo.input`.
  input: { read: `case when input is not null then '"unread"'::jsonb end` },
  policy: "json",
  agentId: { read: unlessMarked("agent_id", "agents") },
  cronJobId: { read: unlessMarked("cron_job_id", "cron_jobs") },
  providerKeyId: { read: unlessMarked("provider_key_id", "provider_keys") },
  turn: { read: `case when kind = 'turn' then ${objectOf(Turn)} end` },
  usage: { read: objectOf(Usage) }
} as const

/** What is behind `select`, for rows that `StoredRun` decodes. */
export const runColumns = makeColumns(StoredRun, special).read()

/** The same without the policies of runs, which are long and which no list shows. */
export const listedRunColumns = makeColumns(StoredRun, { ...special, policy: { read: "null" } }).read()

/** One run out of `from`, with other values for some columns. */
export const insertRun = (run: StoredRun, other: Readonly<Record<string, Fragment>>, from: Fragment) =>
  insertSelect("runs", { ...columns.row(rowOf(run)), ...other }, from)

/** Those runs, called `r`, that `where` lets pass. */
export const insertRuns = (sql: PgClient, runs: ReadonlyArray<StoredRun>, where: Fragment) =>
  insertSelect(
    "runs",
    columns.from("r"),
    sql`${recordset(
      sql,
      "runs",
      runs.map((run) => columns.json(rowOf(run)))
    )} r where ${where}`
  )
