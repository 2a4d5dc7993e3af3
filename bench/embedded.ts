/**
 * What the embedded database is after many updates and a `kill -9`: how long a start takes, from the process to the
 * line that says that it listens, how long a list takes then, and how long its upkeep answered nobody meanwhile.
 *
 *   node bench/embedded.ts [runs] [updates] [rounds]      # 50000 500000 3
 *
 * A first start makes the folder; then another process, with the same database and its upkeep, stores the runs,
 * changes them 1,000 at a time without a pause, and is killed with the last answer; then the service starts as
 * `npm start` does. Times are of one machine that does nothing else meanwhile, or they are bounds:
 * CPU, of all threads of the service, says then how much of them is its own.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { walToReplay } from "../src/Layers/Repo/Postgres/Embedded/wal.ts"
import * as Embedded from "../src/Layers/Repo/Postgres/Embedded.ts"
import * as Migrations from "../src/Layers/Repo/Postgres/Migrations.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const atOnce = 1_000
const megabytes = (bytes: number) => Math.round(bytes / 1024 / 1024)

const id = (n: number) => `run_${String(n).padStart(12, "0")}`

/** Each run begins and ends again and again. */
const changes = [
  `status = 'RUNNING', worker = 'bench', lease_until = now() + interval '15 s', epoch = epoch + 1`,
  `status = 'COMPLETED', worker = null, lease_until = null, finished_at = now()`
]

const update = Effect.fnUntraced(function* (workspace: string, runs: number, updates: number) {
  const sql = yield* PgClient
  yield* sql`
    insert into runs (id, workspace_id, status, prompt, output, autonomy_level, attempts, created_at, updated_at)
    select 'run_' || lpad(n::text, 12, '0'), ${workspace}, 'PENDING', repeat('p', 300), repeat('o', 300),
      'autonomous', 1, now() - n * interval '1 s', now() from generate_series(1, ${runs}::int) n`
  let [slowest, done] = [0, 0]
  for (let round = 0; done < updates; round++) {
    for (let first = 1; first <= runs && done < updates; first += atOnce, done += atOnce) {
      const startedAt = performance.now()
      const change = sql.literal(changes[round % changes.length] ?? "")
      yield* sql`update runs set ${change}, updated_at = now() where id >= ${id(first)} and id < ${id(first + atOnce)}`
      slowest = Math.max(slowest, performance.now() - startedAt)
    }
  }
  const [size] = yield* sql<{ bytes: number }>`select pg_relation_size('runs')::float8 as bytes`
  return { slowest, size: size?.bytes ?? 0 }
})

/** The process that is killed: says what it has seen, and then waits for that. */
const write = async ([dataDir = "", workspace = "", runs, updates]: ReadonlyArray<string>) => {
  const pauses: Array<{ what: string; millis: number }> = []
  const logger = Logger.map(Logger.formatStructured, ({ annotations, message }) => {
    const [what] = /checkpoint|vacuumed|analyzed/.exec(String(message)) ?? []
    if (what !== undefined) pauses.push({ what, millis: Number(annotations.durationMs) })
  })
  const program = Effect.gen(function* () {
    const startedAt = performance.now()
    const written = yield* update(workspace, Number(runs), Number(updates))
    const seconds = (performance.now() - startedAt) / 1000
    writeSync(1, `${JSON.stringify({ ...written, seconds, pauses })}\n`)
    return yield* Effect.never
  })
  await Effect.runPromise(
    program.pipe(
      Effect.provide(Embedded.layer({ dataDir }, Migrations.migrate)),
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "Debug")
    )
  )
}

const firstLine = (child: ChildProcess, wanted: (line: string) => boolean) =>
  new Promise<string>((resolve, reject) => {
    let text = ""
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
      const line = text.split("\n").slice(0, -1).find(wanted)
      if (line !== undefined) resolve(line)
    })
    child.once("exit", (code) => reject(new Error(`it ended with ${code}: ${text}`)))
  })

const stop = (child: ChildProcess, signal: NodeJS.Signals) =>
  new Promise<void>((resolve) => {
    child.removeAllListeners("exit")
    child.once("exit", () => resolve())
    child.kill(signal)
  })

/** What a process has computed: utime and stime, in ticks of 10 ms, where there is a /proc. */
const cpuMillis = ({ pid }: ChildProcess) => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ")
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

const serve = async (dataDir: string) => {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [join(root, "scripts/start.mjs")], {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: undefined,
      AGENTD_DATA_DIR: dataDir,
      AGENTD_ENV_FILE: "/dev/null",
      PORT: "0"
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const line = await firstLine(child, (line) => line.startsWith("agentd listening on "))
  return { child, millis: performance.now() - startedAt, baseUrl: line.slice("agentd listening on ".length) }
}

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)

const longest = (pauses: ReadonlyArray<{ what: string; millis: number }>, kind: string) => {
  const of = pauses.filter(({ what }) => what === kind).map(({ millis }) => millis)
  return `${of.length}, ${Math.max(0, ...of)} ms`
}

const round = async (runs: string, updates: string) => {
  const dataDir = mkdtempSync(join(tmpdir(), "agentd-bench-"))
  try {
    const first = await serve(dataDir)
    await stop(first.child, "SIGTERM")
    const { token, workspaceId } = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8"))
    const writer = spawn(
      process.execPath,
      [import.meta.filename, "--write", dataDir, workspaceId, runs, updates],
      { stdio: ["ignore", "pipe", "inherit"] }
    )
    const said = await firstLine(writer, () => true)
    await stop(writer, "SIGKILL")
    const written = JSON.parse(said)
    const wal = walToReplay(join(dataDir, "postgres")) ?? { from: 0, to: 0 }
    const segments = readdirSync(join(dataDir, "postgres", "pg_wal")).filter((name) => name.length === 24)
    const { baseUrl, child, millis } = await serve(dataDir)
    const cpu = cpuMillis(child)
    const lists: Array<number> = []
    for (let n = 0; n < 21; n++) {
      const startedAt = performance.now()
      const answer = await fetch(`${baseUrl}/api/runs?workspaceId=${workspaceId}`, {
        headers: { authorization: `Bearer ${token}` }
      })
      await answer.arrayBuffer()
      if (answer.status !== 200) throw new Error(`the list is answered with ${answer.status}`)
      lists.push(performance.now() - startedAt)
    }
    const listCpu = (cpuMillis(child) - cpu) / lists.length
    await stop(child, "SIGTERM")
    const [firstList = 0, ...others] = lists
    print(
      `${written.seconds.toFixed(0)} s`,
      `${megabytes(written.size)} MB`,
      longest(written.pauses, "checkpoint"),
      longest(written.pauses, "vacuumed"),
      `${written.slowest.toFixed(0)} ms`,
      `${megabytes(wal.to - wal.from)} of ${segments.length * 16} MB`,
      `${(millis / 1000).toFixed(2)} s, ${(cpu / 1000).toFixed(2)} s`,
      `${firstList.toFixed(0)} ms`,
      `${(others.sort((a, b) => a - b)[10] ?? 0).toFixed(0)} ms`,
      `${listCpu.toFixed(0)} ms`
    )
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const [mode, ...rest] = process.argv.slice(2)
if (mode === "--write") await write(rest)
else {
  const [updates = "500000", rounds = "3"] = rest
  print(
    "updates took",
    "size of runs",
    "checkpoints, longest",
    "vacuums, longest",
    "slowest update of 1,000",
    "WAL to replay, kept",
    "start, its CPU",
    "first list",
    "list p50",
    "list CPU"
  )
  for (let n = 0; n < Number(rounds); n++) await round(mode ?? "50000", updates)
}
