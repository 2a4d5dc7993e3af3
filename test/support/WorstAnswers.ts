import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { WorstRequest } from "./WorstRequests.ts"

/** Rows of these tables, in a moment each, `n` of them. */
const numbered = (count: number) =>
  `(select n, timestamptz '2026-01-01' + n * interval '1 second' as at from generate_series(1, ${count}) n) s`

/** What is a text at its worst as JSON: every code point is six. */
const escaped = "chr(1)"

/** Lists that are as large as an answer may be, and larger ones that are read in pages. */
const seeds = (workspaceId: string, userId: string, small: number): ReadonlyArray<string> => [
  `insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
    select 'agent_' || n, '${workspaceId}', 'Agent', true, at, at from ${numbered(small)}`,
  `insert into cron_jobs
      (id, workspace_id, name, schedule, timezone, prompt, is_active, created_at, updated_at)
    select 'cron_' || n, '${workspaceId}', 'Job', '@yearly', 'UTC', repeat(${escaped}, 10000), false, at, at
    from ${numbered(500)}`,
  ...[
    ["small", small, 10, "'x'"],
    ["large", 310, 100_000, "'x'"],
    ["wide", 80, 100_000, "chr(120000)"],
    ["escaped", 55, 100_000, escaped]
  ].map(
    ([category, count, length, text]) => `
      insert into memory_entries (id, workspace_id, key, value, category, created_at, updated_at)
      select 'mem_${category}_' || n, '${workspaceId}', '${category}' || n, repeat(${text}, ${length}), '${category}',
        at, at from ${numbered(Number(count))}`
  ),
  `insert into conversations (id, workspace_id, title, owner_id, created_at, updated_at)
    select 'conv_' || n, '${workspaceId}', 'Long', '${userId}', at, at from ${numbered(2)}`,
  ...[
    ["conv_1", 300, 100_000],
    ["conv_2", 30, 1_000_000]
  ].map(
    ([id, count, length]) => `
      insert into messages (id, conversation_id, role, content, created_at)
      select 'msg_${id}_' || n, '${id}', 'ASSISTANT', repeat('x', ${length}), at
      from ${numbered(Number(count))} order by n`
  ),
  `insert into runs
      (id, workspace_id, status, prompt, output, autonomy_level, attempts, created_at, updated_at, finished_at)
    select 'run_' || n, '${workspaceId}', 'COMPLETED', 'p', repeat('x', 1000000), 'autonomous', 1, at, now(), now()
    from ${numbered(33)}`,
  ...[
    ["run_1", 5_000, 200],
    ["run_2", 300, 100_000]
  ].map(
    ([run, count, length]) => `
      insert into run_events (run_id, first_id, last_id, events)
      select '${run}', n, n, jsonb_build_array(jsonb_build_object('id', n, 'event', jsonb_build_object(
        'event', 'status', 'data', jsonb_build_object(
          'status', 'responding', 'messageId', 'msg_1', 'delta', repeat('x', ${length}))))) from ${numbered(Number(count))}`
  ),
  "analyze"
]

/** Writes them into the database that is asked. */
export const seedAnswers = Effect.fnUntraced(function* (workspaceId: string, userId: string, small: number) {
  const sql = yield* PgClient
  for (const statement of seeds(workspaceId, userId, small)) yield* sql.unsafe(statement)
})

/** The largest answers that there are, of what `seedAnswers` wrote, and those that are refused for their size. */
export const worstAnswers = (workspaceId: string): ReadonlyArray<WorstRequest> => {
  const of = (path: string, query = "") => `${path}?workspaceId=${workspaceId}${query}`
  const memory = (category: string) => of("/api/chat/memory", `&category=${category}`)
  return [
    ["all agents", of("/api/agents")],
    ["50 agents", of("/api/agents", "&limit=50")],
    ["200 agents", of("/api/agents", "&limit=200")],
    ["1,000 agents", of("/api/agents", "&limit=1000")],
    ["all cron jobs", of("/api/cron-jobs")],
    ["all memory, too large", of("/api/chat/memory")],
    ["all small memory", memory("small")],
    ["31 MiB of memory", memory("large")],
    ["32 MB of memory in four bytes each", memory("wide")],
    ["33 MB of memory in six bytes each", memory("escaped")],
    ["300 long messages", "/api/chat/conversations/conv_1"],
    ["30 messages of a million", "/api/chat/conversations/conv_2"],
    ["33 runs of a million", of("/api/runs", "&limit=33")],
    ["many events", "/api/runs/run_1/events"],
    ["large events", "/api/runs/run_2/events"]
  ].map(([name = "", path = ""]) => ({ name, method: "GET", path }))
}
