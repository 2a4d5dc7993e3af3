import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AnsweringModel } from "../../../Schemas/AnsweringModel.ts"
import { RunId } from "../../../Schemas/Ids.ts"
import { JournalStep } from "../../../Schemas/Journal.ts"
import type { EventBatch } from "../../../Schemas/RunEvent.ts"
import { KeptExecution, mostExecutions, TimedStep } from "../../../Schemas/RunTimes.ts"
import { RunJournal } from "../../../Services/RunJournal.ts"
import type { Execution } from "../../../Services/RunRepo.ts"
import { settling } from "./Budgets.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { keeping, keepingEach, toBatches } from "./EventBatches.ts"
import * as Joined from "./Joined.ts"
import { returnedRow, rows } from "./Rows.ts"
import { counting, countingEach, ofRun, usedBy, usedColumns } from "./UsageChanges.ts"

interface Recorded {
  readonly execution: Execution
  readonly index: number
  readonly step: JournalStep
  readonly events: ReadonlyArray<EventBatch> | undefined
  readonly workedMillis: number
}

const answeredBy = (step: JournalStep) => (step.type === "model" ? step.answeredBy : undefined)

/** `, answered as (…)`: the run of the row of `kept` was answered by this model, if it is said. */
const answering = (sql: PgClient, by: AnsweringModel | undefined) =>
  by === undefined
    ? sql.literal("")
    : sql`, answered as (
        update runs set answered_by = ${sql.json(by)}
        where id in (select id from kept) and answered_by is distinct from ${sql.json(by)})`

/** Of one run, whoever has locked it. */
const recordOne = (sql: PgClient, { events, execution, index, step, workedMillis }: Recorded) => {
  const { epoch, id, worker } = execution
  const by = answeredBy(step)
  return sql`
    with owner as (
      select id, epoch, ${sql.literal(ofRun)} from runs
      where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'RUNNING'
      ${sql.literal(by === undefined ? "for share" : "for no key update")}
    ), kept as (
      insert into run_steps (run_id, index, step, epoch, worked_millis)
      select id, ${index}::int, ${sql.json(step)}, epoch, ${workedMillis}::int from owner
      on conflict (run_id, index) do update set epoch = excluded.epoch
        where run_steps.epoch = excluded.epoch
      returning run_id as id, index, epoch, xmax = 0 as is_new
    )${step.type === "model" ? settling(sql, "kept") : sql.literal("")}${answering(sql, by)}${keeping(sql, "kept", events)}${counting(sql, index, step)}
    select index from kept`
}

/** Calls of tools hold nothing of a budget. */
const answersKept = `(
    select kept.id, kept.epoch from kept join owner using (id, index) where owner.model_calls > 0)`

/** A step each of many runs that nobody has locked. */
const recordTogether = (sql: PgClient, texts: ReadonlyArray<string>) => sql`
  with given as materialized (
    select * from jsonb_to_recordset(${Joined.arrayOf(texts)}::jsonb) as given (
      id text, worker text, epoch integer, step jsonb, worked_millis integer, answered_by jsonb, batches jsonb,
      ${sql.literal(usedColumns)})
  ), owner as materialized (
    select given.*, ${sql.literal(ofRun)}
    from given join runs on runs.id = given.id
    where runs.worker = given.worker and runs.epoch = given.epoch and runs.status = 'RUNNING'
    order by runs.id for no key update of runs skip locked
  ), kept as (
    insert into run_steps (run_id, index, step, epoch, worked_millis)
    select id, index, step, epoch, worked_millis from owner
    on conflict (run_id, index) do update set epoch = excluded.epoch
      where run_steps.epoch = excluded.epoch
    returning run_id as id, index, epoch, xmax = 0 as is_new
  ), answered as (
    update runs set answered_by = owner.answered_by
    from owner join kept using (id, epoch)
    where runs.id = owner.id and owner.answered_by is not null
      and runs.answered_by is distinct from owner.answered_by
  )${settling(sql, answersKept)}${keepingEach(sql, "owner", "kept")}${countingEach(sql)}
  select id, epoch from kept`

const written = rows(Schema.Struct({ id: RunId, epoch: Schema.Int }))

const Kept = Schema.Struct({ index: Schema.Int, step: JournalStep, workedMillis: Schema.Int })
const kept = rows(Kept)
// What was kept before it was counted has none.
const columns = makeColumns(Kept, {
  step: "json",
  workedMillis: { read: "coalesce(worked_millis, 0)" }
}).read()

const timedColumns = makeColumns(TimedStep, {
  at: { read: "created_at" },
  // What is long is read once, and not answered.
  step: {
    read: `case s.type when 'model'
        then jsonb_build_object('type', s.type, 'usage', s.usage, 'costNanos', s."costNanos",
          'answeredBy', nullif(s."answeredBy", 'null'), 'truncated', s.truncated)
      else jsonb_build_object('type', s.type) || (s.result - 'result') end`
  }
}).read()
const timedSteps = rows(TimedStep)
const keptColumns = makeColumns(KeptExecution, {}).read()
const keptExecutions = rows(KeptExecution)

const timesOf = ({ query, sql }: Database["Service"]): RunJournal["Service"]["times"] =>
  Effect.fnUntraced(function* (id) {
    const steps = yield* query(
      timedSteps(sql`
        select ${timedColumns} from run_steps cross join lateral jsonb_to_record(step) as s (
          type text, usage jsonb, "costNanos" jsonb, "answeredBy" jsonb, truncated text, result jsonb)
        where run_id = ${id} order by index`)
    )
    const executions = yield* query(
      keptExecutions(sql`
        select * from (
          select ${keptColumns} from run_executions
          where run_id = ${id} order by epoch desc limit ${mostExecutions}
        ) latest order by epoch`)
    )
    return { steps, executions }
  })

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const database = yield* Database
    const { query, sql } = database

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

    const record = yield* Joined.make(database, {
      lengthOf: ({ text }: Recorded & { readonly text: string }) => text.length,
      together: (given) =>
        Effect.map(
          query(
            written(
              recordTogether(
                sql,
                given.map(({ text }) => text)
              )
            )
          ),
          (found) => {
            const epochs = new Map(found.map(({ epoch, id }) => [id, epoch]))
            return given.map(({ execution: { epoch, id } }) => (epochs.get(id) === epoch ? true : undefined))
          }
        ),
      alone: (given) => query(returnedRow(recordOne(sql, given)))
    })

    return RunJournal.of({
      progress,
      times: timesOf(database),
      steps: (id) => Effect.map(progress(id), ({ steps }) => steps),
      record: (execution, index, step, events, workedMillis = 0) => {
        const given: Recorded = { execution, index, step, events, workedMillis: Math.round(workedMillis) }
        const text = JSON.stringify({
          ...execution,
          ...usedBy(index, step),
          step,
          worked_millis: given.workedMillis,
          batches: toBatches(events)
        })
        return record({ ...given, text })
      }
    })
  })
)
