import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RunId } from "../../../../Schemas/Ids.ts"
import { RunKind } from "../../../../Schemas/Run.ts"
import type { EventBatch } from "../../../../Schemas/RunEvent.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { Execution, RunOutcome, RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { keeping, keepingEach, toBatches } from "../EventBatches.ts"
import * as Joined from "../Joined.ts"
import { firstRow, returnedRow, rows } from "../Rows.ts"

const endings = rows(Schema.Struct({ id: RunId, epoch: Schema.Int }))
const cancelled = firstRow(Schema.Struct({ kind: RunKind }))

interface Ending {
  readonly execution: Execution
  readonly outcome: RunOutcome
  readonly at: Date
  readonly firstTokenAt: Date | null
  readonly events: ReadonlyArray<EventBatch> | undefined
}

/** Of one run, whoever has locked it, and also if it has ended so before. */
const end = (sql: PgClient, { at, events, execution, firstTokenAt, outcome }: Ending) => {
  const { epoch, id, worker } = execution
  const output = outcome.output ?? null
  const error = outcome.status === "FAILED" ? outcome.error : null
  const { cachedInputTokens, costNanos, modelCalls, toolCalls } = outcome.spent ?? {}
  return sql`
    with ended as (
      update runs
      set status = ${outcome.status},
        output = given.output, error = given.error,
        error_code = ${outcome.status === "FAILED" ? outcome.code : null},
        input_tokens = ${outcome.usage.inputTokens}, output_tokens = ${outcome.usage.outputTokens},
        cached_input_tokens = ${cachedInputTokens ?? null}::int, model_calls = ${modelCalls ?? null}::int,
        tool_calls = ${toolCalls ?? null}::int, cost_nanos = ${costNanos ?? null}::bigint,
        first_token_at = case when status = 'RUNNING'
          then coalesce(first_token_at, ${firstTokenAt}::timestamptz) else first_token_at end,
        finished_at = case when status = 'RUNNING' then ${at}::timestamptz else finished_at end,
        updated_at = case when status = 'RUNNING' then ${at}::timestamptz else updated_at end
      from (select ${output}::text as output, ${error}::text as error) given
      where id = ${id} and worker = ${worker} and epoch = ${epoch}
        and (status = 'RUNNING' or status = ${outcome.status}
          and (runs.output, runs.error) is not distinct from (given.output, given.error))
      returning id)${keeping(sql, "ended", events)}
    select id from ended`
}

/** Of many that are RUNNING and that nobody has locked. */
const endTogether = (sql: PgClient, texts: ReadonlyArray<string>) => sql`
  with given as materialized (
    select * from jsonb_to_recordset(${Joined.arrayOf(texts)}::jsonb) as given (
      id text, worker text, epoch integer, status text, output text, error text, code text, input_tokens integer,
      output_tokens integer, cached_input_tokens integer, model_calls integer, tool_calls integer, cost_nanos bigint,
      first_token_at timestamptz, at timestamptz, batches jsonb)
  ), locked as materialized (
    select given.* from given join runs on runs.id = given.id
    where runs.worker = given.worker and runs.epoch = given.epoch and runs.status = 'RUNNING'
    order by runs.id for no key update of runs skip locked
  ), ended as (
    update runs
    set status = locked.status, output = locked.output, error = locked.error, error_code = locked.code,
      input_tokens = locked.input_tokens, output_tokens = locked.output_tokens,
      cached_input_tokens = locked.cached_input_tokens, model_calls = locked.model_calls,
      tool_calls = locked.tool_calls, cost_nanos = locked.cost_nanos,
      first_token_at = coalesce(runs.first_token_at, locked.first_token_at),
      finished_at = locked.at, updated_at = locked.at
    from locked where runs.id = locked.id
    returning runs.id, runs.epoch
  )${keepingEach(sql, "locked", "ended")}
  select id, epoch from ended`

/** How runs end. */
export const make = Effect.fnUntraced(function* ({ change, query, sql }: Database["Service"]) {
  const finish = yield* Joined.make(
    { query, sql },
    {
      lengthOf: ({ text }: Ending & { readonly text: string }) => text.length,
      together: (given) =>
        Effect.map(
          query(
            endings(
              endTogether(
                sql,
                given.map(({ text }) => text)
              )
            )
          ),
          (found) => {
            const ended = new Map(found.map(({ epoch, id }) => [id, epoch]))
            return given.map(({ execution: { epoch, id } }) => (ended.get(id) === epoch ? true : undefined))
          }
        ),
      alone: (ending) => query(returnedRow(end(sql, ending)))
    }
  )
  return {
    finish: (execution, outcome, { at, firstTokenAt }, events) => {
      const { output = null, spent, status, usage } = outcome
      const { code = null, error = null } = outcome.status === "FAILED" ? outcome : {}
      const text = JSON.stringify({
        ...execution,
        status,
        output,
        error,
        code,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cached_input_tokens: spent?.cachedInputTokens,
        model_calls: spent?.modelCalls,
        tool_calls: spent?.toolCalls,
        cost_nanos: spent?.costNanos,
        first_token_at: firstTokenAt,
        at,
        batches: toBatches(events)
      })
      return finish({ execution, outcome, at, firstTokenAt, events, text })
    },
    cancel: (id: RunId, at: Date) =>
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
  } satisfies Pick<RunRepo["Service"], "finish" | "cancel">
})
