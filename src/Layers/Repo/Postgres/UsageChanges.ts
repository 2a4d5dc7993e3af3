import type { PgClient } from "@effect/sql-pg/PgClient"
import { type JournalStep, spentBy } from "../../../Schemas/Journal.ts"

/** What a step has used, as the statements below take it. */
export const usedBy = (index: number, step: JournalStep) => {
  const { cachedInputTokens, costNanos, inputTokens, modelCalls, outputTokens, toolCalls } = spentBy(step)
  return {
    index,
    model_calls: modelCalls,
    tool_calls: toolCalls,
    input_tokens: inputTokens,
    cached_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    cost_nanos: costNanos,
    answered_by: step.type === "model" ? (step.answeredBy ?? null) : null
  }
}

const inserted = `
    insert into usage_changes (workspace_id, kind, agent_id, cron_job_id, provider, model, provider_key_id, runs,
      turns, model_calls, tool_calls, input_tokens, cached_input_tokens, output_tokens, cost_nanos)`

/** A step of a run `o`, used as `u`, that nobody wrote before. The first one makes it a run, or a turn, that was worked on. */
const values = `
    o.workspace_id, o.kind, coalesce(o.agent_id, ''), coalesce(o.cron_job_id, ''),
      left(coalesce(coalesce(u.answered_by, o.model) ->> 'provider', ''), 100),
      left(coalesce(coalesce(u.answered_by, o.model) ->> 'model', ''), 200),
      left(coalesce(coalesce(u.answered_by, o.model) ->> 'providerKeyId', ''), 100),
      (u.index = 0 and o.kind = 'task')::int, (u.index = 0 and o.kind = 'turn')::int,
      u.model_calls, u.tool_calls, u.input_tokens, u.cached_input_tokens, u.output_tokens, u.cost_nanos`

/** What `owner` has of the run: `model` is the one that answered so far. */
export const ofRun =
  "runs.workspace_id, runs.kind, runs.agent_id, runs.cron_job_id, runs.answered_by as model"

/** The columns of `usedBy` in a recordset, besides `answered_by`. */
export const usedColumns = `index integer, model_calls integer, tool_calls integer, input_tokens bigint,
      cached_input_tokens bigint, output_tokens bigint, cost_nanos bigint`

/**
 * `, used as (…)`: counts a step with the statement that keeps it, for the run in the row of `owner`, where it is new in
 * `kept`: a step that is written again is not counted again.
 */
export const counting = (sql: PgClient, index: number, step: JournalStep) => sql`, used as (
    ${sql.literal(inserted)}
    select ${sql.literal(values)}
    from kept join owner o using (id), jsonb_to_record(${sql.json(usedBy(index, step))})
      as u (${sql.literal(usedColumns)}, answered_by jsonb)
    where kept.is_new)`

/** The same for many, of which `owner` has a row for each step. */
export const countingEach = (sql: PgClient) =>
  sql.literal(`, used as (
    ${inserted}
    select ${values.replace(/\bu\./gu, "o.")}
    from kept join owner o using (id, index) where kept.is_new)`)
