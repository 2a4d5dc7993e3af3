/**
 * What it costs to keep and to read the events of live executions: one node executes 50, 250 and 1,000 runs that say 20
 * words a second each, another reads all of them over PostgreSQL.
 *
 *   [DATABASE_URL=postgres://postgres@127.0.0.1:5620] node bench/events.ts [--runs 50,250,1000] [--seconds 20]
 *     [--node FILE] [--json FILE]
 *
 * `--node` is another version's `bench/support/EventNode.ts`, to measure it beside this one. It brings its own PostgreSQL
 * where none is given, and makes a database of its own there.
 */
import { fork } from "node:child_process"
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Remote from "../src/Layers/Repo/Postgres/Remote.ts"
import { Settings } from "../src/Services/Settings.ts"
import { onDatabase, sleep } from "../test/support/Durability.ts"
import type { Done, Order } from "./support/EventNode.ts"
import { quantile } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "50,250,1000" },
    seconds: { type: "string", default: "20" },
    node: { type: "string" },
    json: { type: "string" }
  }
})
const perSecond = 20
const millis = Number(values.seconds) * 1_000
/** Until both nodes are there, and what was read late is read. */
const [aheadMillis, behindMillis] = [4_000, 3_000]
const own = resolve(import.meta.dirname, "support/EventNode.ts")
const versions =
  values.node === undefined
    ? [["this", own]]
    : [
        ["this", own],
        ["other", resolve(values.node)]
      ]

const { url: server } = await openServer()

const startNode = (file: string, order: Order): Promise<Done> =>
  new Promise((done, failed) => {
    const child = fork(file, { execArgv: ["--disable-warning=ExperimentalWarning"] })
    child.once("message", (message) => done(message as Done))
    child.once("exit", (code) => failed(new Error(`a node ended with ${code}`)))
    child.send(order)
  })

const seed = (url: string, count: number) =>
  onDatabase(url, (sql) =>
    Effect.gen(function* () {
      yield* sql`insert into workspaces (id, name, plan, created_at, updated_at) values ('ws', 'w', 'pro', now(), now())`
      const rows = yield* sql<{ id: string }>`
        insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, epoch, worker, lease_until,
          created_at, updated_at)
        select 'run_01m812c5wpd9757b61twm' || lpad(n::text, 5, '0'), 'ws', 'RUNNING', 'p', 'autonomous', 1, 1, 'bench',
          now() + interval '1 hour', now(), now() from generate_series(1, ${count}::int) n
        returning id`
      return rows.map(({ id }) => id)
    })
  )

const measure = async (version: string, file: string, runs: number) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  await Effect.runPromise(
    Effect.scoped(
      Layer.build(
        Remote.layer({ url: Redacted.make(url) }).pipe(
          Layer.provide(Layer.succeed(Settings, Settings.defaults))
        )
      )
    )
  )
  const ids = await seed(url, runs)
  const commits = async () => {
    const [row] = await onDatabase(
      `${server}/postgres`,
      (sql) =>
        sql<{
          commits: number
        }>`select xact_commit::int as commits from pg_stat_database where datname = ${name}`
    )
    return row?.commits ?? Number.NaN
  }
  const before = await commits()
  const order = { url, ids, perSecond }
  const reading = startNode(file, {
    ...order,
    role: "read",
    worker: "reader",
    millis: aheadMillis + millis + behindMillis
  })
  await sleep(aheadMillis / 2)
  const executing = startNode(file, { ...order, role: "execute", worker: "bench", millis })
  const [read, executed] = await Promise.all([reading, executing])
  // Sessions say what they did when they end, if not before.
  await sleep(1_000)
  const after = await commits()
  await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
  return {
    version,
    runs,
    commitsPerSecond: (after - before) / (millis / 1_000),
    told: executed.events,
    read: read.events,
    executingMicrosPerEvent: (executed.cpuMillis * 1_000) / executed.events,
    readingMicrosPerEvent: (read.cpuMillis * 1_000) / read.events,
    delayP50: quantile(read.delays, 0.5),
    delayP99: quantile(read.delays, 0.99),
    load: loadavg()[0]
  }
}

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
process.stdout.write(`${cpus().length} cores, ${perSecond} events per second and run, ${values.seconds} s\n`)
print(
  "version",
  "runs",
  "commits/s",
  "told",
  "read",
  "executing µs/event",
  "reading µs/event",
  "delay p50",
  "p99",
  "load"
)
print("---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:")
const rows: Array<Awaited<ReturnType<typeof measure>>> = []
for (const runs of values.runs.split(",").map(Number)) {
  for (const [version = "", file = ""] of versions) {
    const row = await measure(version, file, runs)
    rows.push(row)
    print(
      row.version,
      row.runs,
      row.commitsPerSecond.toFixed(1),
      row.told,
      row.read,
      row.executingMicrosPerEvent.toFixed(0),
      row.readingMicrosPerEvent.toFixed(0),
      `${row.delayP50} ms`,
      `${row.delayP99} ms`,
      row.load?.toFixed(1) ?? ""
    )
  }
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`)
process.exit(0)
