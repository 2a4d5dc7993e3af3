/**
 * What waiting costs the database: two nodes with runs that are due tomorrow, at rest, and then with a `Prefer: wait`
 * request for each of them (1,000). Statements per second by PostgreSQL's own count, which statements, transactions, and
 * connections that are in use. Exit code 1 if a statement is asked more often because somebody waits, or a request did
 * not wait.
 *
 *   node bench/waits.ts [--waits 1000] [--seconds 20] [--json FILE]
 *
 * It brings its own PostgreSQL (`initdb` and `pg_ctl` in PATH), with fsync on. PostgreSQL tells its
 * statistics of a connection up to 10 s late, and a node that hears a signal has a transaction without a statement: so each
 * look begins 11 s after what was before it.
 */
import { parseArgs } from "node:util"
import { onDatabase, sleep } from "../test/support/Durability.ts"
import { until } from "../test/support/Until.ts"
import { describe } from "./support/About.ts"
import { openReport, toText } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"
import { openSite, prepareObserver, unlimited } from "./support/Site.ts"
import { type Looked, sum, total, watching } from "./support/Statements.ts"

const { values } = parseArgs({
  options: {
    waits: { type: "string", default: "1000" },
    seconds: { type: "string", default: "20" },
    json: { type: "string" }
  }
})
const waits = Number(values.waits)
const seconds = Number(values.seconds)
/** PostgreSQL tells what a connection did at the latest so long after it did it. */
const toldMillis = 11_000

const say = (text: string) => process.stdout.write(`${text}\n`)
const { url: server } = await openServer("-c shared_preload_libraries=pg_stat_statements")
const about = await describe(server)
say(`${about.commit}, ${about.machine}. ${about.versions}; ${about.durability}\n`)
await prepareObserver(server)
const site = await openSite(server, { env: unlimited, nodes: 2 })
const { client, nodes, workspaceId } = site

const runAt = new Date(Date.now() + 86_400_000).toISOString()
const ids: Array<string> = []
while (ids.length < waits) {
  const made = Array.from({ length: Math.min(20, waits - ids.length) }, async () => {
    const answer = await client(0).request("POST", "/api/tasks", { workspaceId, prompt: "work", runAt })
    return ((await answer.json()) as { data: { id: string } }).data.id
  })
  ids.push(...(await Promise.all(made)))
}

const standing = async () => {
  const [row] = await onDatabase(
    `${server}/postgres`,
    (sql) => sql<{ commits: number; active: number }>`
      select (select xact_commit::float8 from pg_stat_database where datname = ${site.name}) as commits,
        (select count(*)::float8 from pg_stat_activity where datname = ${site.name}
          and backend_type = 'client backend' and (state <> 'idle' or xact_start is not null)) as active`
  )
  return row ?? { commits: Number.NaN, active: Number.NaN }
}

const look = async () => {
  await sleep(toldMillis)
  const [before, ended] = [await standing(), await watching(server, [{ size: waits, site }])]
  const active: Array<number> = []
  for (let second = 0; second < seconds; second++) {
    await sleep(1_000)
    active.push((await standing()).active)
  }
  const [looked] = await ended()
  if (looked === undefined) throw new Error("nothing was seen")
  const { commits } = await standing()
  const open = sum(active) / active.length
  return { ...looked, commits: (commits - before.commits) / looked.seconds, active: open }
}

/** How many requests wait, as the nodes say. */
const waiting = async () => {
  const each = await Promise.all(
    [0, 1].map(async (node) => {
      const text = await (await fetch(`${nodes.server(node).baseUrl}/metrics`)).text()
      return Number(/^agentd_node_waiting_requests\S* (\d+)$/m.exec(text)?.[1])
    })
  )
  return sum(each)
}

const resting = await look()
const leaving = new AbortController()
const begun = await watching(server, [{ size: waits, site }])
const held = ids.map((id, n) =>
  fetch(`${nodes.server(n % 2).baseUrl}/api/runs/${id}`, {
    headers: { authorization: `Bearer ${site.token}`, prefer: "wait=60" },
    signal: leaving.signal
  }).then(
    ({ status }) => status,
    () => undefined
  )
)
await until(async () => {
  await sleep(200)
  return (await waiting()) === waits
}, "all of them wait")
const [beginning] = await begun()
const busy = await look()
const still = await waiting()
leaving.abort()
await Promise.all(held)

const perSecond = (seen: Looked) => total(seen.statements, "calls") / seen.seconds
const report = openReport("waits", values.json)
const row = (what: string, unit: string, of: (seen: typeof busy) => number) =>
  report.row({
    what,
    agentd: of(busy),
    beside: of(resting),
    unit,
    note: `beside: nobody waits; ${waits} wait`
  })
row(`statements, ${waits} that wait beside none`, "1/s", perSecond)
row("transactions", "1/s", ({ commits }) => commits)
row("connections that do something, of looks once a second", "", ({ active }) => active)
row("CPU of both nodes", "ms/s", (seen) => seen.cpuMillis / seen.seconds)
report.row({
  what: "statements to begin to wait",
  agentd: total(beginning?.statements ?? [], "calls") / waits,
  unit: "each"
})

const were = new Map(resting.statements.map((statement) => [statement.id, statement.calls / resting.seconds]))
const risen = busy.statements
  .map(({ calls, id, text }) => ({ now: calls / busy.seconds, was: were.get(id) ?? 0, text }))
  .sort((a, b) => b.now - a.now)
say("")
for (const { now, text, was } of risen)
  say(`${toText(was)} → ${toText(now)}: ${text.replaceAll(/\s+/g, " ").slice(0, 110)}`)
/** Upkeep that comes once a minute falls into one window and not into the other: a dozen of one statement at most. */
const more = risen.filter(({ now, was }) => now - was > 0.6)
const problems = [
  ...more.map(({ now, text, was }) => `from ${toText(was)} to ${toText(now)} a second: ${text}`),
  ...(still === waits ? [] : [`only ${still} waited to the end`])
]
say(problems.length === 0 ? "\nwaiting asked for nothing" : `\n${problems.join("\n")}`)
report.save()
await site.close()
process.exit(problems.length === 0 ? 0 : 1)
