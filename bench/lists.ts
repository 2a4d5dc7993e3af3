/**
 * How lists of many rows do: time and size of each answer, and the memory of the server.
 *
 *   DATABASE_URL=postgres://… PORT=4666 npm start     # a server on a database of its own
 *   URL=… TOKEN=… WORKSPACE=… SERVER_PID=… DATABASE_URL=… node bench/lists.ts [--seeded]
 *
 * `ROWS` (10000) says of how many. `--seeded` measures again on rows that an earlier call has made.
 */
import { readFileSync } from "node:fs"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

const repetitions = 20
const {
  DATABASE_URL = "",
  ROWS = "10000",
  SERVER_PID = "",
  TOKEN = "",
  URL: baseUrl = "",
  WORKSPACE = ""
} = process.env

const seed = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const from = sql.literal(
    `from (select n, now() - n * interval '1 second' as at from generate_series(1, ${ROWS}) n) s`
  )
  const text = sql.literal(`repeat('x', 200)`)
  const [user] = yield* sql<{
    id: string
  }>`select user_id as id from workspace_members where workspace_id = ${WORKSPACE}`
  const owner = user?.id ?? ""
  yield* sql`insert into agents (id, workspace_id, name, description, is_active, created_at, updated_at)
    select 'agent_' || n, ${WORKSPACE}, 'Agent ' || n, ${text}, true, at, at ${from}`
  yield* sql`insert into memory_entries (id, workspace_id, key, value, category, created_at, updated_at)
    select 'mem_' || n, ${WORKSPACE}, 'key ' || n, ${text}, 'general', at, at ${from}`
  yield* sql`insert into runs (id, workspace_id, status, prompt, output, autonomy_level, attempts, created_at, updated_at)
    select 'run_' || n, ${WORKSPACE}, 'COMPLETED', ${text}, ${text}, 'autonomous', 1, at, at ${from}`
  yield* sql`insert into conversations (id, workspace_id, title, agent_id, owner_id, created_at, updated_at)
    select 'conv_' || n, ${WORKSPACE}, 'Conversation ' || n, 'agent_' || n, ${owner}, at, at ${from}`
  yield* sql`insert into messages (id, conversation_id, role, content, created_at)
    select 'msg_' || n || '_' || m, 'conv_' || n, 'USER', ${text}, at
    from (select n, m, now() as at from generate_series(1, ${sql.literal(ROWS)}) n, generate_series(1, 4) m) s`
  yield* sql`insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, created_at, updated_at)
    select 'cron_' || n, ${WORKSPACE}, 'Job ' || n, '@yearly', 'UTC', ${text}, false, at, at ${from}`
  yield* sql`analyze`
}).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(DATABASE_URL) })))

const memoryOf = (name: "VmRSS" | "VmHWM"): number => {
  const [, kib] =
    new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${SERVER_PID}/status`, "utf8")) ?? []
  return Math.round(Number(kib) / 1024)
}

const lists = [
  "/api/agents?limit=50&",
  "/api/agents?limit=50&after=agent_5000&",
  "/api/agents?limit=1000&",
  "/api/agents?",
  "/api/cron-jobs?",
  "/api/chat/memory?",
  "/api/chat/memory?key=key%205000&",
  "/api/runs?",
  "/api/runs?limit=100&",
  `/api/runs?limit=100&offset=${Number(ROWS) - 100}&`,
  "/api/runs?status=FAILED&",
  "/api/chat/conversations?",
  "/api/chat/conversations?limit=100&",
  `/api/chat/conversations?limit=100&offset=${Number(ROWS) - 100}&`
]

const get = async (path: string) => {
  const started = performance.now()
  const answer = await fetch(`${baseUrl}${path}workspaceId=${WORKSPACE}`, {
    headers: { authorization: `Bearer ${TOKEN}` }
  })
  const bytes = (await answer.arrayBuffer()).byteLength
  if (answer.status !== 200 && answer.status !== 400) throw new Error(`${path} ${answer.status}`)
  return { bytes, millis: performance.now() - started }
}

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)

if (process.argv[2] !== "--seeded") await Effect.runPromise(seed)
print(
  "list",
  "first ms",
  "median ms",
  "slowest ms",
  "KiB",
  "RSS MiB",
  "peak MiB",
  "longest wait of others ms"
)
for (const path of lists) {
  const first = await get(path)
  const times: Array<number> = []
  for (let n = 0; n < repetitions; n++) times.push((await get(path)).millis)
  times.sort((a, b) => a - b)
  // Eight at once, and the longest that another request waits beside them.
  let busy = true
  const eight = Promise.all(Array.from({ length: 8 }, () => get(path))).finally(() => {
    busy = false
  })
  let beside = 0
  while (busy) {
    const started = performance.now()
    await (await fetch(`${baseUrl}/health/live`)).text()
    beside = Math.max(beside, performance.now() - started)
  }
  await eight
  const cells = [first.millis, times[repetitions / 2] ?? 0, times.at(-1) ?? 0].map((ms) => ms.toFixed(1))
  const memory = [memoryOf("VmRSS"), memoryOf("VmHWM")]
  print(path, ...cells, Math.round(first.bytes / 1024), ...memory, beside.toFixed(0))
}
