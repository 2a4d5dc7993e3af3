import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AnsweringModel } from "../../../Schemas/AnsweringModel.ts"
import { JournalStep } from "../../../Schemas/Journal.ts"
import { RunJournal } from "../../../Services/RunJournal.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { keeping } from "./EventBatches.ts"
import { returnedRow, rows } from "./Rows.ts"

/** `, answered as (…)`: the run of the row of `kept` was answered by this model, if it is said. */
const answering = (sql: PgClient, by: AnsweringModel | undefined) =>
  by === undefined
    ? sql.literal("")
    : sql`, answered as (
        update runs set answered_by = ${sql.json(by)}
        where id in (select id from kept) and answered_by is distinct from ${sql.json(by)})`

const Kept = Schema.Struct({ index: Schema.Int, step: JournalStep, workedMillis: Schema.Int })
const kept = rows(Kept)
// What was kept before it was counted has none.
const columns = makeColumns(Kept, {
  step: "json",
  workedMillis: { read: "coalesce(worked_millis, 0)" }
}).read()

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const progress: RunJournal["Service"]["progress"] = (id) =>
      query(
        Effect.map(
          kept(sql`select ${columns} from run_steps where run_id = ${id} order by index`),
          (found) => ({
            steps: new Map(found.map(({ index, step }) => [index, step])),
            workedMillis: Math.max(0, ...found.map(({ workedMillis }) => workedMillis))
          })
        )
      )

    return RunJournal.of({
      progress,
      steps: (id) => Effect.map(progress(id), ({ steps }) => steps),
      record: ({ epoch, id, worker }, index, step, events, workedMillis = 0) => {
        const answeredBy = step.type === "model" ? step.answeredBy : undefined
        return query(
          returnedRow(sql`
            with owner as (
              select id, epoch from runs
              where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'RUNNING'
              ${sql.literal(answeredBy === undefined ? "for share" : "for no key update")}
            ), kept as (
              insert into run_steps (run_id, index, step, epoch, worked_millis)
              select id, ${index}::int, ${sql.json(step)}, epoch, ${Math.round(workedMillis)}::int from owner
              on conflict (run_id, index) do update set epoch = excluded.epoch
                where run_steps.epoch = excluded.epoch
              returning run_id as id, index
            )${answering(sql, answeredBy)}${keeping(sql, "kept", events)}
            select index from kept`)
        )
      }
    })
  })
)
