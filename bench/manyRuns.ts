/**
 * How lists of runs do as runs become many: time of each over HTTP, and what others notice of pollers.
 *
 *   node bench/manyRuns.ts [--rows 10000,100000,1000000] [--seconds 5] [--json FILE]
 *   URL=… TOKEN=… node bench/manyRuns.ts          # a server whose database is filled already, by its own token
 *
 * PostgreSQL is its own, with fsync on, or the scratch server of DATABASE_URL. Beside is the first number of rows: what
 * does not grow has a ratio of 1. A list is asked for 60 times, the others for so many seconds.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { makeAccount, makeNodes, onDatabase } from "../test/support/Durability.ts"
import { seedRuns } from "../test/support/ManyRows.ts"
import { openReport, quantile } from "./support/Report.ts"
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

interface Times {
  readonly what: string
  readonly p50: number
  readonly p99: number
}

const measure = async (baseUrl: string, token: string, rows: number): Promise<ReadonlyArray<Times>> => {
  const refused = new Map<number, number>()
  const timed = async (path: string) => {
    const from = performance.now()
    const answer = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })
    await answer.arrayBuffer()
    if (answer.status !== 200) refused.set(answer.status, (refused.get(answer.status) ?? 0) + 1)
    return performance.now() - from
  }
  const found: Array<Times> = []
  const told = (what: string, times: ReadonlyArray<number>) => {
    const others = Array.from(refused, ([status, count]) => ` (${count} × ${status})`).join("")
    refused.clear()
    found.push({ what: `${what}${others}`, p50: quantile(times, 0.5), p99: quantile(times, 0.99) })
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

const ofRows = async (server: string, rows: number) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
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
const report = openReport("lists", values.json)
const tell = (rows: number, times: ReadonlyArray<Times>, beside: ReadonlyArray<Times> = []) => {
  for (const [index, { p50, p99, what }] of times.entries()) {
    const sized = `${what}, ${rows.toLocaleString("en")} runs`
    report.row({ what: sized, agentd: p50, beside: beside[index]?.p50, unit: "ms p50" })
    report.row({ what: sized, agentd: p99, beside: beside[index]?.p99, unit: "ms p99" })
  }
}
if (given === undefined) {
  const { url: server } = await openServer()
  let beside: ReadonlyArray<Times> | undefined
  for (const rows of sizes) {
    const times = await ofRows(server, rows)
    tell(rows, times, beside)
    beside ??= times
  }
} else {
  const [rows = 0] = sizes.slice(-1)
  tell(rows, await measure(given, TOKEN, rows))
}
report.save()
process.exit(0)
