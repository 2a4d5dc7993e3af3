/**
 * What a run of three steps costs, with the POST that makes it: beside graphile-worker with a job that inserts three
 * rows, on the same PostgreSQL with fsync on, in turns.
 *
 *   [DATABASE_URL=postgres://postgres@127.0.0.1:5566] node bench/throughput.ts [rate] [snapshot] [--json FILE]
 *
 * `rate`: runs a second, CPU of server and database and what they ask the database per run, in 1 and in 16 workspaces.
 * `snapshot`: what `finish` reads while a snapshot is held open. THROUGHPUT_RUNS (1500) a round, THROUGHPUT_ROUNDS (3),
 * THROUGHPUT_CLIENTS (64). With pg_stat_statements in shared_preload_libraries statements are counted as well.
 */
import { randomBytes } from "node:crypto"
import { makeAccount, makeNodes, onDatabase, sleep } from "../test/support/Durability.ts"
import { startBeside } from "./support/Beside.ts"
import { median } from "./support/Laws.ts"
import { makePoster } from "./support/Poster.ts"
import { cpuMillisOf, cpuOfDatabase } from "./support/Processes.ts"
import { openReport } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"
import { buffersOfFinish, heldSnapshot } from "./support/Snapshot.ts"

const { THROUGHPUT_CLIENTS = "64", THROUGHPUT_ROUNDS = "3", THROUGHPUT_RUNS = "1500" } = process.env
const [runs, rounds, clients] = [THROUGHPUT_RUNS, THROUGHPUT_ROUNDS, THROUGHPUT_CLIENTS].map(Number) as [
  number,
  number,
  number
]
const words = process.argv.slice(2)
const json = words.includes("--json") ? words[words.indexOf("--json") + 1] : undefined
const wants = (part: string) => {
  const parts = words.filter((word) => ["rate", "snapshot"].includes(word))
  return parts.length === 0 || parts.includes(part)
}
/** Two calls at once would be one step less: the second is not read-only. */
const prompt = "call current_time {}"
const { url: server } = await openServer()

const report = openReport("runs", json)

interface Subject {
  readonly url: string
  readonly database: string
  readonly pid: () => number
  readonly over: () => Promise<number>
  readonly post: (path: string, body: object) => Promise<void>
  readonly body: (n: number) => readonly [path: string, body: object]
}

const counted = async ({ database, url }: Subject) => {
  const [row] = await onDatabase(
    url,
    (sql) => sql<{ commits: number; statements: number }>`
      select xact_commit::float8 as commits, (
        select coalesce(sum(calls), 0)::float8 from pg_stat_statements s where s.dbid = d.datid and toplevel
      ) as statements
      from pg_stat_database d where datname = ${database}`
  )
  return row ?? { commits: Number.NaN, statements: Number.NaN }
}

/** All at once, and until the last is over. */
const round = async (subject: Subject) => {
  const before = await subject.over()
  const [first, cpu, busy] = [
    await counted(subject),
    cpuMillisOf(subject.pid()),
    await cpuOfDatabase(subject.url)
  ]
  const started = performance.now()
  let sent = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (sent < runs) await subject.post(...subject.body(sent++))
    })
  )
  const posted = performance.now() - started
  while ((await subject.over()) < before + runs) await sleep(20)
  const took = performance.now() - started
  const cpuMillis = cpuMillisOf(subject.pid()) - cpu
  const databaseMillis = (await cpuOfDatabase(subject.url)) - busy
  // What sessions have done is told to the statistics a little later.
  await sleep(1_500)
  const last = await counted(subject)
  return {
    perSecond: (runs / took) * 1000,
    postsPerSecond: (runs / posted) * 1000,
    cpu: cpuMillis / runs,
    database: databaseMillis / runs,
    commits: (last.commits - first.commits) / runs,
    statements: (last.statements - first.statements) / runs
  }
}

const makeDatabase = async () => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  await onDatabase(url, (sql) => sql`create extension if not exists pg_stat_statements`)
  const drop = () =>
    onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
  return { drop, name, url }
}

const openAgentd = async () => {
  const { drop, name, url } = await makeDatabase()
  const nodes = makeNodes(url, () => ({}), {
    AGENTD_RATE_PER_MINUTE: "0",
    AGENTD_QUOTAS: '{"free":{"pendingRuns":null,"workspacesOwned":null}}',
    AGENTD_RUN_CONCURRENCY: String(clients),
    AGENTD_RUNS_PER_WORKSPACE: String(clients),
    AGENTD_RUNS_PER_OWNER: String(clients)
  })
  await nodes.start(0)
  const account = await makeAccount(url, nodes)
  const workspaces = [account.workspaceId]
  for (let n = 1; n < 16; n++) {
    workspaces.push((await account.client(0).json("POST", "/api/workspaces", { name: `W${n}` })).data.id)
  }
  const poster = makePoster(nodes.server(0).baseUrl, clients, account.token)
  const subject = (count: number): Subject => ({
    url,
    database: name,
    pid: () => nodes.server(0).pid,
    over: async () => {
      const [row] = await onDatabase(
        url,
        (sql) => sql<{ over: number }>`select count(*)::int as over from runs where status = 'COMPLETED'`
      )
      return row?.over ?? 0
    },
    post: poster.post,
    body: (n) => [
      "/api/tasks",
      {
        workspaceId: workspaces[n % count],
        prompt,
        autonomyLevel: "autonomous",
        selectedProvider: "offline"
      }
    ]
  })
  const close = async () => {
    poster.close()
    await nodes.stopAll()
    await drop()
  }
  return { close, subject, url }
}

const openBeside = async () => {
  const { drop, name, url } = await makeDatabase()
  const beside = await startBeside("runs.mjs", { DATABASE_URL: url })
  const poster = makePoster(beside.baseUrl, clients)
  const subject: Subject = {
    url,
    database: name,
    pid: () => beside.pid,
    over: async () => {
      const [row] = await onDatabase(
        url,
        (sql) => sql<{ over: number }>`
          select (select count(*) from step_rows where index = 2)::int
            - (select count(*) from graphile_worker.jobs)::int as over`
      )
      return row?.over ?? 0
    },
    post: poster.post,
    body: () => ["/jobs", { prompt }]
  }
  const close = async () => {
    poster.close()
    await beside.stop()
    await drop()
  }
  return { close, subject }
}

type Round = Awaited<ReturnType<typeof round>>

const rate = async () => {
  const agentd = await openAgentd()
  const beside = await openBeside()
  try {
    const subjects = { one: agentd.subject(1), many: agentd.subject(16), beside: beside.subject }
    const found: Record<keyof typeof subjects, Array<Round>> = { one: [], many: [], beside: [] }
    // The first of each warms it up.
    for (let n = 0; n <= rounds; n++) {
      for (const name of ["one", "beside", "many"] as const) {
        const measured = await round(subjects[name])
        if (n > 0) found[name].push(measured)
      }
    }
    const of = (name: keyof typeof subjects, key: keyof Round) => median(found[name].map((each) => each[key]))
    const row = (what: string, key: keyof Round, unit?: string, goal?: string) => {
      const beside = of("beside", key)
      for (const [name, where] of [
        ["one", "1 workspace"],
        ["many", "16 workspaces"]
      ] as const) {
        report.row({ what: `${what}, ${where}`, agentd: of(name, key), beside, unit, goal })
      }
    }
    row("3-step runs with their POST", "perSecond", "runs/s", "≥ 1×")
    row("their POSTs", "postsPerSecond", "req/s")
    row("CPU of the server per run", "cpu", "ms")
    row("CPU of the database per run", "database", "ms")
    row("statements per run", "statements")
    row("commits per run", "commits")
  } finally {
    await agentd.close()
    await beside.close()
  }
}

const snapshot = async () => {
  const agentd = await openAgentd()
  try {
    const subject = agentd.subject(1)
    await round(subject)
    const before = await buffersOfFinish(agentd.url)
    const held = await heldSnapshot(agentd.url)
    report.row({ what: "buffers of a `finish` before a snapshot is held", agentd: before })
    for (let n = 1; n <= rounds; n++) {
      const { perSecond } = await round(subject)
      const what = `after ${n * runs} runs while it is held, beside before (${perSecond.toFixed(0)}/s)`
      report.row({ what, agentd: await buffersOfFinish(agentd.url), beside: before })
    }
    await held.end()
  } finally {
    await agentd.close()
  }
}

if (wants("rate")) await rate()
if (wants("snapshot")) await snapshot()
report.save()
process.exit(0)
