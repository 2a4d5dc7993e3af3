import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { JournalStep } from "../../../Schemas/Journal.ts"
import { RunJournal } from "../../../Services/RunJournal.ts"
import { Database } from "./Database.ts"
import { returnedRow, rows } from "./Rows.ts"

const steps = rows(Schema.Struct({ index: Schema.Int, step: JournalStep }))

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    return RunJournal.of({
      open: (id, worker) =>
        run(steps(sql`select index, step from run_steps where run_id = ${id} order by index`)).pipe(
          Effect.map((found) => ({
            finished: new Map(found.map(({ index, step }) => [index, step])),
            record: (index, step) =>
              run(
                returnedRow(sql`
                  insert into run_steps (run_id, index, step)
                  select id, ${index}::int, ${sql.json(step)} from runs
                  where id = ${id} and worker = ${worker} and status = 'RUNNING'
                  for share
                  on conflict do nothing
                  returning index`)
              )
          }))
        )
    })
  })
)
