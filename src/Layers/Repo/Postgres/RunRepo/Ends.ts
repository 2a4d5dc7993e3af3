import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RunKind } from "../../../../Schemas/Run.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { keeping } from "../EventBatches.ts"
import { firstRow, returnedRow } from "../Rows.ts"

const cancelled = firstRow(Schema.Struct({ kind: RunKind }))

/** How runs end. */
export const make = ({
  change,
  query,
  sql
}: Database["Service"]): Pick<RunRepo["Service"], "finish" | "cancel"> => ({
  finish: ({ epoch, id, worker }, outcome, { at, firstTokenAt }, events) => {
    const output = outcome.output ?? null
    const error = outcome.status === "FAILED" ? outcome.error : null
    return query(
      returnedRow(sql`
        with ended as (
          update runs
          set status = ${outcome.status},
            output = given.output, error = given.error,
            error_code = ${outcome.status === "FAILED" ? outcome.code : null},
            input_tokens = ${outcome.usage.inputTokens}, output_tokens = ${outcome.usage.outputTokens},
            first_token_at = case when status = 'RUNNING'
              then coalesce(first_token_at, ${firstTokenAt}::timestamptz) else first_token_at end,
            finished_at = case when status = 'RUNNING' then ${at}::timestamptz else finished_at end,
            updated_at = case when status = 'RUNNING' then ${at}::timestamptz else updated_at end
          from (select ${output}::text as output, ${error}::text as error) given
          where id = ${id} and worker = ${worker} and epoch = ${epoch}
            and (status = 'RUNNING' or status = ${outcome.status}
              and (runs.output, runs.error) is not distinct from (given.output, given.error))
          returning id)${keeping(sql, "ended", events)}
        select id from ended`)
    )
  },
  cancel: (id, at) =>
    change((audit) =>
      sql.withTransaction(
        Effect.tap(
          cancelled(
            audit.with(sql`
            update runs set status = 'CANCELLED', finished_at = ${at}, updated_at = ${at}
            where id = ${id} and status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL')
            returning id, kind`)
          ),
          // A statement of its own: the one above does not see what the run asked for while it was waited for.
          (ended) =>
            Effect.when(
              sql`update approvals set status = 'EXPIRED' where run_id = ${id} and status = 'PENDING'`,
              Effect.succeed(Option.isSome(ended))
            )
        )
      )
    ).pipe(
      Effect.tap((ended) =>
        Option.isSome(ended) ? Metrics.countEnds(ended.value.kind, "CANCELLED") : Effect.void
      ),
      Effect.map(Option.isSome)
    )
})
