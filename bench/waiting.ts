/**
 * What it costs a node to wait for a slow model with all of its places: memory, CPU and transactions per second of a
 * node with 256 runs and 256 chat turns on PostgreSQL, and with 64 and 256 on the embedded database.
 *
 *   [DATABASE_URL=postgres://postgres@127.0.0.1:5566] node bench/waiting.ts
 *
 * It brings its own PostgreSQL where none is given, and makes a database of its own there.
 */
import { randomBytes } from "node:crypto"
import { onDatabase, sleep } from "../test/support/Durability.ts"
import {
  makeClient,
  makeDataDir,
  readCredentials,
  runCommand,
  type Server,
  startServer
} from "../test/support/Process.ts"
import { until } from "../test/support/Until.ts"
import { startHeldModel } from "./support/HeldModel.ts"
import { resting } from "./support/Processes.ts"
import { openServer } from "./support/Server.ts"

const holdSeconds = 200
/** Event streams that a user may have open on a node. */
const streamsOfUser = 64

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const model = await startHeldModel(100)
const limits = {
  ...model.env,
  AGENTD_RUNS_PER_WORKSPACE: "1000",
  AGENTD_TURNS_PER_WORKSPACE: "1000",
  AGENTD_RUNS_PER_OWNER: "1000",
  AGENTD_MODEL_TIMEOUT_SECONDS: "600"
}

const measure = async (
  name: string,
  { runs, turns }: { readonly runs: number; readonly turns: number },
  server: Server,
  { token, workspaceId }: { readonly token: string; readonly workspaceId: string },
  /** Of the database, for the command line. */
  env: Readonly<Record<string, string>>,
  /** How many there were so far, where that is known. */
  commits?: () => Promise<number>
) => {
  const { request } = makeClient(server.baseUrl, token)
  const readers: Array<ReturnType<typeof makeClient>> = []
  while (readers.length * streamsOfUser < turns) {
    const words = [
      "user",
      "create",
      "--email",
      `reader${readers.length}@example.org`,
      "--workspace",
      workspaceId
    ]
    const made = await runCommand(env, ...words, "--json")
    readers.push(makeClient(server.baseUrl, JSON.parse(made.stdout).token))
  }
  const idle = await resting()
  const leaving = new AbortController()
  const streams: Array<Promise<unknown>> = []
  for (let n = 0; n < runs; n++) {
    const body = { workspaceId, prompt: `hold ${holdSeconds}` }
    await (await request("POST", "/api/tasks", body)).text()
  }
  for (let n = 0; n < turns; n++) {
    const body = { workspaceId, content: `hold ${holdSeconds}` }
    const reader = readers[n % readers.length]
    const answer = await reader?.request("POST", "/api/chat/messages", body, leaving.signal)
    streams.push(answer?.text().catch(() => undefined) ?? Promise.resolve())
  }
  const allWait = async () => {
    await sleep(500)
    return model.held() === runs + turns
  }
  await until(allWait, "all of them wait", 60_000)
  await sleep(15_000)
  const before = await commits?.()
  const busy = await resting()
  const after = await commits?.()
  const perSecond = before === undefined || after === undefined ? "" : ((after - before) / 10).toFixed(1)
  print(name, `${runs} + ${turns}`, idle, busy, perSecond)
  leaving.abort()
  await Promise.all(streams)
  await server.stop("SIGKILL")
}

print("database", "runs + turns", "idle", "waiting", "transactions per second")
print("---", "---", "---", "---", "---")

const { url: server } = await openServer()
const name = `bench_${randomBytes(6).toString("hex")}`
await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
const url = `${server}/${name}`
const commits = async () => {
  const [row] = await onDatabase(
    `${server}/postgres`,
    (sql) => sql<{ commits: number }>`
      select xact_commit::int as commits from pg_stat_database where datname = ${name}`
  )
  return row?.commits ?? Number.NaN
}
const node = await startServer({ ...limits, DATABASE_URL: url })
const made = await runCommand({ DATABASE_URL: url }, "bootstrap", "--json")
await measure(
  "PostgreSQL",
  { runs: 256, turns: 256 },
  node,
  JSON.parse(made.stdout),
  { DATABASE_URL: url },
  commits
)
await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)

const folder = makeDataDir()
const embedded = await startServer({ ...limits, AGENTD_DATA_DIR: folder.path })
const env = { AGENTD_DATA_DIR: folder.path }
await measure("embedded", { runs: 64, turns: 256 }, embedded, readCredentials(folder.path), env)
folder.remove()
model.close()
process.exit(0)
