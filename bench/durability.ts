/**
 * What runs survive: kill -9 of nodes, a PostgreSQL that restarts, connections that are killed, and how
 * much it costs to have many of them wait for people. Two nodes, a mock model and a mock MCP server.
 *
 *   DATABASE_URL=postgres://postgres@127.0.0.1:5566 node bench/durability.ts [kills] [restarts] [outages] …
 *
 * The scenarios are kills, restarts, outages, storm and parked. The server is a scratch one: each scenario
 * makes a database of its own there and drops it. `restarts` and `outages` need commands to stop and start
 * it, and are left out without:
 *
 *   PG_STOP="runuser -u postgres -- pg_ctl -D /tmp/pgd/data -m immediate -w stop"
 *   PG_START="runuser -u postgres -- pg_ctl -D /tmp/pgd/data -l /tmp/pgd/log -w start"
 *
 * Times are of one machine that does everything at once: read them as bounds, compare only within one run.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { onDatabase, sleep, statusCounts, untilIdle } from "../test/support/Durability.ts"
import { logOf, makeSite, resting, type Setting, type Site, trickle } from "./support/Site.ts"

const { DATABASE_URL: server = "", PG_START = "", PG_STOP = "" } = process.env
const wanted = process.argv.slice(2)
const run = promisify(execFile)
const canRestart = PG_START !== "" && PG_STOP !== ""
const command = (line: string) => {
  const [name = "", ...words] = line.split(" ")
  return run(name, words)
}

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const note = (text: string) => process.stderr.write(`${text}\n`)
const seconds = (millis: number) => `${(millis / 1000).toFixed(1)} s`
const statuses = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(", ")

const withNodes = async (name: string, setting: Setting, work: (site: Site) => Promise<void>) => {
  if (wanted.length > 0 && !wanted.includes(name)) return
  const site = await makeSite(server, setting)
  try {
    await work(site)
  } catch (error) {
    print(name, "ended with", String(error))
  } finally {
    await site.close()
  }
}

const report = async (name: string, site: Site, took: string) => {
  const examined = await site.examined()
  const failed = await onDatabase(
    site.url,
    (sql) => sql<{ error: string; count: number }>`
      select error, count(*)::int as count from runs where status = 'FAILED' group by error`
  )
  const [counts] = await onDatabase(
    site.url,
    (sql) => sql<{ crashes: number; attempts: number }>`
      select max(crashes) as crashes, max(attempts) as attempts from runs`
  )
  print(
    name,
    statuses(await statusCounts(site.url)),
    took,
    `${examined.steps} steps, ${examined.repeats} repeated, ${examined.faults.length} faults`,
    `most crashes ${counts?.crashes}, most attempts ${counts?.attempts}`
  )
  for (const { count, error } of failed) note(`  ${name}: ${count} FAILED: ${error}`)
  for (const fault of examined.faults.slice(0, 10)) note(`  ${name}: ${fault}`)
  for (const [node, { lines, warnings }] of [0, 1].map((n) => [n, logOf(site, n)] as const)) {
    note(`  ${name}: node ${node} logged ${lines} lines; ${warnings}`)
  }
}

const reportTrickle = async (
  name: string,
  site: Site,
  made: Awaited<ReturnType<ReturnType<typeof trickle>>>
) => {
  const kept = await onDatabase(
    site.url,
    (sql) => sql<{ id: string }>`select id from runs where status = 'COMPLETED'`
  )
  const completed = new Set(kept.map(({ id }) => id))
  print(
    `${name}: POST /api/tasks beside it`,
    Array.from(made.answers, ([status, count]) => `${count} × ${status}`).join(", "),
    `slowest ${seconds(made.slowest)}`,
    `${made.promised.filter((id) => !completed.has(id)).length} of ${made.promised.length} answered 201 not COMPLETED`,
    ""
  )
}

if (!canRestart) note("restarts and outages are left out: PG_STOP and PG_START are not set")
print("scenario", "runs", "time", "steps", "")
print("---", "---", "---", "---", "---")

const many = { AGENTD_RUNS_PER_WORKSPACE: "32" }

await withNodes("kills", { modelMillis: 400, toolMillis: 150, env: many }, async (site) => {
  await site.submit(400)
  for (let n = 0; n < 4; n++) {
    await sleep(1_500)
    await site.nodes.kill(n % 2)
    await site.nodes.start(n % 2)
  }
  const last = site.nodes.kills.at(-1)?.to ?? 0
  await untilIdle(site.url, 120_000)
  await report("400 runs, 4 kills", site, `${seconds(Date.now() - last)} after the last kill (at most 45 s)`)
})

await withNodes(
  "restarts",
  { modelMillis: 1_200, toolMillis: 300, env: { ...many, AGENTD_RUN_CONCURRENCY: "8" } },
  async (site) => {
    if (!canRestart) return
    const started = Date.now()
    await site.submit(200)
    const stop = trickle(site, 250)
    while (Date.now() - started < 60_000) {
      await sleep(5_000)
      await command(PG_STOP)
      await command(PG_START)
    }
    const made = await stop()
    await untilIdle(site.url, 180_000)
    await report("PostgreSQL restarted each 5 s for 60 s", site, `${seconds(Date.now() - started)} in all`)
    await reportTrickle("restarts", site, made)
  }
)

// Longer than a lease, again and again: nobody has died.
await withNodes(
  "outages",
  { modelMillis: 15_000, toolMillis: 100, env: { ...many, AGENTD_LEASE_SECONDS: "3" } },
  async (site) => {
    if (!canRestart) return
    const started = Date.now()
    await site.submit(20)
    for (let n = 0; n < 3; n++) {
      await sleep(5_000)
      await command(PG_STOP)
      await sleep(6_000)
      await command(PG_START)
    }
    await untilIdle(site.url, 180_000)
    await report(
      "PostgreSQL away 3 times for 6 s, lease 3 s",
      site,
      `${seconds(Date.now() - started)} in all`
    )
  }
)

await withNodes(
  "storm",
  { modelMillis: 300, toolMillis: 100, env: { ...many, AGENTD_RUN_CONCURRENCY: "8" } },
  async (site) => {
    const started = Date.now()
    await site.submit(200)
    const stop = trickle(site, 250)
    let killed = 0
    await onDatabase(`${server}/postgres`, (sql) => sql`select 1`)
    while (Date.now() - started < 20_000) {
      const gone = await onDatabase(
        `${server}/postgres`,
        (sql) => sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = ${site.name} and application_name like 'agentd%'`
      )
      killed += gone.length
      await sleep(200)
    }
    const made = await stop()
    await untilIdle(site.url, 180_000)
    await report(`${killed} connections killed in 20 s`, site, `${seconds(Date.now() - started)} in all`)
    await reportTrickle("storm", site, made)
  }
)

await withNodes("parked", { modelMillis: 20, toolMillis: 5, env: many }, async (site) => {
  const { client, workspaceId } = site.account
  print("1,500 parked", "before", await resting(), "", "")
  const started = Date.now()
  await site.submit(1_500, (job) => `job ${job} write`, "semi-autonomous")
  await untilIdle(site.url, 300_000)
  print(
    "1,500 parked",
    statuses(await statusCounts(site.url)),
    `${seconds(Date.now() - started)} to park`,
    "",
    ""
  )
  print("1,500 parked", "waiting", await resting(), "", "")
  const approving = Date.now()
  let approved = 0
  while (approved < 1_500) {
    const path = `/api/approvals?workspaceId=${workspaceId}&limit=100`
    const { data } = await client(0).json("GET", path)
    if (data.length === 0) break
    const answers = await Promise.all(
      data.map(({ id }: { id: string }, n: number) =>
        client(n % 2).request("POST", `/api/approvals/${id}`, { decision: "approve" })
      )
    )
    approved += answers.filter(({ status }) => status === 200).length
  }
  const decided = Date.now() - approving
  await untilIdle(site.url, 300_000)
  const took = `${approved} approved in ${seconds(decided)}, over after ${seconds(Date.now() - approving)}`
  await report("1,500 parked, then approved", site, took)
  print("1,500 parked", "after", await resting(), "", "")
})
