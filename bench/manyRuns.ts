/**
 * How lists of runs do as runs become many: time of each over HTTP, and what others notice of pollers.
 *
 *   node bench/manyRuns.ts [--rows 10000,100000,1000000] [--seconds 5] [--json FILE]
 *   URL=… TOKEN=… node bench/manyRuns.ts          # a server whose database is filled already, by its own token
 *
 * PostgreSQL is its own, with fsync on, or the scratch server of DATABASE_URL. Beside is the first number of rows: what
 * does not grow has a ratio of 1.
 */
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { makeAccount, makeNodes, onDatabase } from "../test/support/Durability.ts"
import { seedRuns } from "../test/support/ManyRows.ts"
import { openServer } from "./support/Server.ts"

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000,100000,1000000" },
    seconds: { type: "string", default: "5" },
    json: { type: "string" }
  }
})
const windowMillis = Number(values.seconds) * 1_000
const repetitions = 60
const pollers = 12

const percentile = (all: ReadonlyArray<number>, share: number) =>
  [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * share))] ?? Number.NaN

const lists = (rows: number): ReadonlyArray<readonly [what: string, query: string]> => [
  ["list", ""],
  ["status=FAILED", "&status=FAILED"],
  ["status=CANCELLED, the oldest", "&status=CANCELLED"],
  ["agentId=, of all statuses", "&agentId=agent_1"],
  ["agentId= and status=FAILED, none", "&agentId=agent_1&status=FAILED"],
  ["cronJobId=", "&cronJobId=cron_3"],
  ["offset of a tenth", `&offset=${rows / 10}`],
  ["after, half way", `&after=run_${String(rows / 2 + 1).padStart(8, "0")}`]
]

interface Measured {
  readonly what: string
  readonly p50: number
  readonly p99: number
}

const measure = async (baseUrl: string, token: string, rows: number): Promise<ReadonlyArray<Measured>> => {
  const refused = new Map<number, number>()
  const timed = async (path: string) => {
    const from = performance.now()
    const answer = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })
    await answer.arrayBuffer()
    if (answer.status !== 200) refused.set(answer.status, (refused.get(answer.status) ?? 0) + 1)
    return performance.now() - from
  }
  const found: Array<Measured> = []
  const told = (what: string, times: ReadonlyArray<number>) => {
    const others = Array.from(refused, ([status, count]) => ` (${count} × ${status})`).join("")
    refused.clear()
    found.push({ what: `${what}${others}`, p50: percentile(times, 0.5), p99: percentile(times, 0.99) })
  }
  for (const [what, query] of lists(rows)) {
    const path = `/api/runs?workspaceId=ws_big${query}`
    await timed(path)
    const times = []
    for (let n = 0; n < repetitions; n++) times.push(await timed(path))
    told(what, times)
  }
  const others = async (until: number) => {
    const times = []
    while (performance.now() < until) times.push(await timed("/api/agents?workspaceId=ws_small"))
    return times
  }
  told("GET of another workspace", await others(performance.now() + windowMillis))
  const until = performance.now() + windowMillis
  const polled: Array<number> = []
  const poll = async () => {
    while (performance.now() < until)
      polled.push(await timed("/api/runs?workspaceId=ws_big&status=CANCELLED"))
  }
  const [times] = await Promise.all([others(until), ...Array.from({ length: pollers }, poll)])
  told(`the same beside ${pollers} pollers of status=`, times)
  told("what these pollers wait", polled)
  return found
}

const ofRows = async (rows: number) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  const { url: server } = await openServer()
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  const nodes = makeNodes(url, () => ({}))
  await nodes.start(0)
  try {
    const { token } = await makeAccount(url, nodes)
    await onDatabase(url, (sql) => Effect.provideService(seedRuns(rows), PgClient.PgClient, sql))
    await onDatabase(
      url,
      (sql) => sql`
        insert into workspace_members (workspace_id, user_id, role, created_at)
        select w.id, u.user_id, 'owner', now() from (values ('ws_big'), ('ws_small')) w (id), (select user_id from tokens) u`
    )
    return await measure(nodes.server(0).baseUrl, token, rows)
  } finally {
    await nodes.stopAll()
    await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
  }
}

const { TOKEN = "", URL: given } = process.env
const sizes = values.rows.split(",").map(Number)
const table: Array<Record<string, string | number>> = []
let beside: ReadonlyArray<Measured> | undefined
process.stdout.write(
  "| what | agentd p50 / p99 ms | beside p50 / p99 ms | ratio |\n| --- | --- | --- | --- |\n"
)
for (const rows of given === undefined ? sizes : sizes.slice(-1)) {
  const measured = given === undefined ? await ofRows(rows) : await measure(given, TOKEN, rows)
  beside ??= measured
  for (const [index, { p50, p99, what }] of measured.entries()) {
    const first = beside[index] ?? { p50, p99 }
    const ratio = p50 / first.p50
    table.push({ what: `${what}, ${rows} runs`, p50, p99, besideP50: first.p50, besideP99: first.p99, ratio })
    const cell = (of: { readonly p50: number; readonly p99: number }) =>
      `${of.p50.toFixed(1)} / ${of.p99.toFixed(1)}`
    process.stdout.write(
      `| ${what}, ${rows} runs | ${cell({ p50, p99 })} | ${cell(first)} | ${ratio.toFixed(2)} |\n`
    )
  }
}
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(table, null, 2))
process.exit(0)
