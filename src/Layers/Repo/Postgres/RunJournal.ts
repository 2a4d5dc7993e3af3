import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AnsweringModel } from "../../../Schemas/AnsweringModel.ts"
import { JournalStep } from "../../../Schemas/Journal.ts"
import { RunJournal } from "../../../Services/RunJournal.ts"
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

const steps = rows(Schema.Struct({ index: Schema.Int, step: JournalStep }))

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    return RunJournal.of({
      steps: (id) =>
        query(
          Effect.map(
            steps(sql`select index, step from run_steps where run_id = ${id} order by index`),
            (found) => new Map(found.map(({ index, step }) => [index, step]))
          )
        ),
      record: ({ epoch, id, worker }, index, step, events) => {
        const answeredBy = step.type === "model" ? step.answeredBy : undefined
        return query(
          returnedRow(sql`
            with owner as (
              select id, epoch from runs
              where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'RUNNING'
              ${sql.literal(answeredBy === undefined ? "for share" : "for no key update")}
            ), kept as (
              insert into run_steps (run_id, index, step, epoch)
              select id, ${index}::int, ${sql.json(step)}, epoch from owner
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
