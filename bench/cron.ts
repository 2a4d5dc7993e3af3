/**
 * The goals of cron jobs on three nodes and a real PostgreSQL with fsync on: no slot lost or fired twice while a
 * node is killed, how late slots are, thousands of jobs due in one second, and what idle jobs cost.
 *
 *   DATABASE_URL=postgres://postgres@127.0.0.1:5576 node bench/cron.ts [--json FILE] [slots] [burst] [idle]
 *
 * CRON_JOBS (100) jobs each second for CRON_SECONDS (30); the burst of CRON_BURST (2000) jobs with CRON_CONCURRENCY (16) runs
 * per node. The server is a scratch one with pg_stat_statements in shared_preload_libraries: each part makes a database of
 * its own there and drops it. Runs are those of the offline model. Servers, database and this program share the machine:
 * read times as bounds. `--json` has the lines of the burst.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import { makeAccount, makeNodes, onDatabase, sleep } from "../test/support/Durability.ts"
import { until } from "../test/support/Until.ts"
import { usage } from "./support/Processes.ts"
import { type Measured, quantile, save, toRow } from "./support/Report.ts"

const {
  CRON_BURST = "2000",
  CRON_CONCURRENCY = "16",
  CRON_JOBS = "100",
  CRON_SECONDS = "30",
  DATABASE_URL: server = ""
} = process.env
const { positionals: wanted, values: flags } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "string" } }
})

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const spread = (values: ReadonlyArray<number>) =>
  [0.5, 0.99, 1].map((share) => `${quantile(values, share).toFixed(0)} ms`).join(", ")

/** One user has all of it. */
const AGENTD_QUOTAS = '{"free":{"cronJobs":null,"workspacesOwned":null}}'

const makeSite = async (count: number, env: Readonly<Record<string, string>>) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  const nodes = makeNodes(url, () => ({}), { ...env, AGENTD_QUOTAS })
  await Promise.all(Array.from({ length: count }, (_, node) => nodes.start(node)))
  const account = await makeAccount(url, nodes)
  const close = async () => {
    await nodes.stopAll()
    await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
  }
  const make = async (job: number, schedule: string, workspaceId = account.workspaceId) => {
    const answer = await account.client(job % count).request("POST", "/api/cron-jobs", {
      workspaceId,
      name: `job ${job}`,
      schedule,
      prompt: "call current_time {}"
    })
    if (answer.status !== 201) throw new Error(`POST /api/cron-jobs: ${answer.status}`)
  }
  return { account, close, make, name, nodes, url }
}

type Site = Awaited<ReturnType<typeof makeSite>>

const part = async (
  name: string,
  count: number,
  env: Readonly<Record<string, string>>,
  work: (site: Site) => Promise<void>
) => {
  if (wanted.length > 0 && !wanted.includes(name)) return
  const site = await makeSite(count, env)
  try {
    await work(site)
  } finally {
    await site.close()
  }
}

/** The slots of a time, with how late they were handled and how late their runs began. */
const slots = (site: Site, from: Date, to: Date) =>
  onDatabase(
    site.url,
    (sql) => sql<{ outcome: string; fired: number; began: number | null; run: string | null }>`
      select f.outcome, extract(epoch from f.fired_at - f.scheduled_at)::float8 * 1000 as fired,
        extract(epoch from r.started_at - f.scheduled_at)::float8 * 1000 as began, f.run_id as run
      from cron_fires f left join runs r on r.id = f.run_id
      where f.scheduled_at >= ${from} and f.scheduled_at < ${to}`
  )

const clockOf = async (site: Site) => {
  const [row] = await onDatabase(site.url, (sql) => sql<{ at: Date }>`select clock_timestamp() as at`)
  return row?.at.getTime() ?? Number.NaN
}

const concurrent = async (count: number, work: (n: number) => Promise<void>) => {
  for (let first = 0; first < count; first += 20) {
    await Promise.all(Array.from({ length: Math.min(20, count - first) }, (_, n) => work(first + n)))
  }
}

await part(
  "slots",
  3,
  { AGENTD_RUNS_PER_WORKSPACE: "48", AGENTD_RUNS_PER_OWNER: "48", AGENTD_LEASE_SECONDS: "3" },
  async (site) => {
    const [jobs, seconds] = [Number(CRON_JOBS), Number(CRON_SECONDS)]
    await concurrent(jobs, (n) => site.make(n, "* * * * * *"))
    const from = new Date(Math.ceil((await clockOf(site)) / 1000 + 2) * 1000)
    const to = new Date(from.getTime() + seconds * 1000)
    await sleep(from.getTime() + (seconds * 1000) / 3 - (await clockOf(site)) + 3)
    await site.nodes.kill(1)
    await sleep((seconds * 1000) / 5)
    await site.nodes.start(1)
    await sleep(to.getTime() + 2_000 - (await clockOf(site)))
    const rows = await slots(site, from, to)
    const [made] = await onDatabase(
      site.url,
      (sql) => sql<{ runs: number; other: number }>`
      select count(*)::int as runs, count(*) filter (where not exists (
        select from cron_fires f where f.run_id = r.id))::int as other
      from runs r where r.cron_job_id is not null`
    )
    const outcomes = new Map<string, number>()
    for (const { outcome } of rows) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const distinct = new Set(rows.flatMap(({ run }) => (run === null ? [] : [run]))).size
    print(
      `slots of ${jobs} jobs in ${seconds} s, one node killed and restarted`,
      `${rows.length} of ${jobs * seconds}`
    )
    print("what became of them", Array.from(outcomes, ([name, count]) => `${count} ${name}`).join(", "))
    print("runs of these slots", distinct)
    print("runs without a slot, of all", `${made?.other} of ${made?.runs}`)
    print("lag: slot to its transaction (p50, p99, most)", spread(rows.map(({ fired }) => fired)))
    print(
      "slot to the begin of its run",
      spread(rows.flatMap(({ began }) => (began === null ? [] : [began])))
    )
  }
)

const burst = {
  AGENTD_RUN_CONCURRENCY: CRON_CONCURRENCY,
  AGENTD_RUNS_PER_WORKSPACE: "1000",
  AGENTD_RUNS_PER_OWNER: "1000"
}
await part("burst", 3, burst, async (site) => {
  const jobs = Number(CRON_BURST)
  const workspaces: Array<string> = []
  for (let n = 0; n < 20; n++) {
    workspaces.push((await site.account.client(0).json("POST", "/api/workspaces", { name: `W${n}` })).data.id)
  }
  const slot = new Date(Math.ceil(((await clockOf(site)) + 45_000) / 1000) * 1000)
  const schedule = `${slot.getUTCSeconds()} ${slot.getUTCMinutes()} ${slot.getUTCHours()} * * *`
  await concurrent(jobs, (n) => site.make(n, schedule, workspaces[n % workspaces.length]))
  const latencies: Array<number> = []
  let going = true
  const asking = Array.from({ length: 3 }, async (_, node) => {
    const client = site.account.client(node)
    while (going) {
      const started = performance.now()
      const { status } = await client.request("GET", `/api/agents?workspaceId=${site.account.workspaceId}`)
      if (status !== 200) throw new Error(`GET /api/agents: ${status}`)
      latencies.push(performance.now() - started)
      await sleep(20)
    }
  })
  const early = slot.getTime() - (await clockOf(site))
  if (early < 3_000) throw new Error("the jobs were made too late")
  await sleep(early - 2_000)
  const resting = latencies.splice(0)
  await sleep(2_000)
  const count = async (condition: "made" | "over") => {
    const [row] = await onDatabase(
      site.url,
      (sql) => sql<{ count: number }>`
        select count(*)::int as count from runs
        where cron_job_id is not null and ${condition === "over" ? sql`finished_at is not null` : sql`true`}`
    )
    return row?.count ?? 0
  }
  await until(async () => (await count("made")) === jobs, "all runs are made", 60_000)
  const made = (await clockOf(site)) - slot.getTime()
  await until(async () => (await count("over")) === jobs, "all runs are over", 120_000)
  const over = (await clockOf(site)) - slot.getTime()
  going = false
  await Promise.all(asking)
  const rows = await slots(site, slot, new Date(slot.getTime() + 1))
  print(
    `${jobs} jobs due in one second: all runs made, as another connection sees it`,
    `${made.toFixed(0)} ms`
  )
  print("their slots to the transaction (p50, p99, most)", spread(rows.map(({ fired }) => fired)))
  const begins = rows.map(({ began }) => began ?? Number.NaN)
  print("their slots to the begin of the run", spread(begins))
  print("all runs over after", `${over.toFixed(0)} ms`)
  print("GET /api/agents before", spread(resting))
  print(`GET /api/agents meanwhile (${latencies.length})`, spread(latencies))
  const due = `${jobs.toLocaleString("en")} jobs due in one second`
  const measured: ReadonlyArray<Measured> = [
    { what: `${due}: all runs made`, agentd: made, unit: "ms" },
    { what: `${due}: runs begun`, agentd: quantile(begins, 0.5), unit: "ms p50" },
    { what: `${due}: runs begun`, agentd: quantile(begins, 0.99), unit: "ms p99", goal: "< 3,000 ms" },
    { what: `${due}: all runs over`, agentd: over, unit: "ms" },
    {
      what: "GET /api/agents meanwhile, beside before",
      agentd: quantile(latencies, 0.99),
      beside: quantile(resting, 0.99),
      unit: "ms p99"
    }
  ]
  save({ name: "cron", rows: measured.map(toRow) }, flags.json)
})

await part("idle", 1, {}, async (site) => {
  await onDatabase(`${server}/postgres`, (sql) => sql`create extension if not exists pg_stat_statements`)
  const measure = async (what: string) => {
    const millis = 60_000
    await sleep(5_000)
    await onDatabase(`${server}/postgres`, (sql) => sql`select pg_stat_statements_reset()`)
    const [before] = usage()
    await sleep(millis)
    const [after] = usage()
    const [row] = await onDatabase(
      `${server}/postgres`,
      (sql) => sql<{ calls: number; cron: number; busy: number }>`
        select coalesce(sum(calls), 0)::int as calls,
          coalesce(sum(calls) filter (where query ~ 'cron_(jobs|fires|backlogs)'), 0)::int as cron,
          coalesce(sum(total_exec_time), 0)::float8 as busy
        from pg_stat_statements where dbid = (select oid from pg_database where datname = ${site.name})`
    )
    const cpu = ((after?.cpuMillis ?? 0) - (before?.cpuMillis ?? 0)) / millis
    print(
      what,
      `${((row?.calls ?? 0) / 60).toFixed(2)} statements/s (${row?.cron} about cron jobs in the minute, all together ` +
        `${row?.busy.toFixed(1)} ms in the database), ${(cpu * 100).toFixed(2)} % CPU, ${after?.mib.toFixed(0)} MiB`
    )
  }
  await measure("a node without cron jobs, idle for a minute")
  await onDatabase(
    site.url,
    (sql) => sql`
      insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, next_fire_at,
        created_at, updated_at)
      select 'cron_' || n, ${site.account.workspaceId}, 'j', '@yearly', 'UTC', 'p', true,
        now() + interval '30 days' + n * interval '1 second', now(), now()
      from generate_series(1, 100000) n`
  )
  await onDatabase(site.url, (sql) => sql`vacuum analyze cron_jobs`)
  await measure("the same with 100,000 jobs that are not due")
})
