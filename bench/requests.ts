/**
 * What a request costs beside Fastify and pg with the same statements and the same answers (`beside/requests.mjs`).
 *
 *   node bench/requests.ts [--json FILE] [--seconds 4] [--rounds 5] [--only get,list,post,ready]
 *
 * The servers are pinned to one core, this program and PostgreSQL (fsync on) to the other, and take turns on one
 * database. DATABASE_URL names a server on this machine to use instead of one of its own. A row is the median of the
 * rounds: requests a second and CPU of the server for each, and the ratio of requests a second.
 */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { onDatabase } from "../test/support/Durability.ts"
import { makeClient, runCommand, startServer } from "../test/support/Process.ts"
import { cpuMillisOf, pin } from "./support/Cores.ts"
import { median } from "./support/Laws.ts"
import { openReport } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"

const { values } = parseArgs({
  options: {
    json: { type: "string" },
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "5" },
    only: { type: "string", default: "get,list,post,ready" }
  }
})
const seconds = Number(values.seconds)
const connections = 64
const sessions = 10
const [otherCore, serverCore] = [0, 1]
const { default: autocannon } = await import("./node_modules/autocannon/autocannon.js" as string)

/** What is asked, of either server. */
interface Load {
  readonly what: string
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: string
  readonly status: number
  /** Of its requests a second. */
  readonly goal: string
}

interface Measured {
  readonly perSecond: number
  readonly cpuMicros: number
}

const startBeside = async (url: string) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "beside/requests.mjs")], {
    env: { ...process.env, DATABASE_URL: url, PORT: "0", POOL: String(sessions), NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  process.once("exit", () => child.kill("SIGKILL"))
  let said = ""
  while (!said.includes("\n")) said += String((await once(child.stdout, "data"))[0])
  return { baseUrl: said.replace("listening on ", "").trim(), pid: child.pid ?? 0, stop: () => child.kill() }
}

const headersOf = (token: string, body: string | undefined) => ({
  authorization: `Bearer ${token}`,
  "accept-encoding": "identity",
  ...(body !== undefined && { "content-type": "application/json" })
})

const measure = async (
  { baseUrl, pid }: { readonly baseUrl: string; readonly pid: number },
  token: string,
  { body, method, path, status, what }: Load,
  duration: number,
  isWarming = false
): Promise<Measured> => {
  const before = cpuMillisOf(pid)
  const result = await autocannon({
    url: `${baseUrl}${path}`,
    method,
    connections,
    duration,
    headers: headersOf(token, body),
    ...(body !== undefined && { body })
  })
  const answered: number = result.requests.total
  const good = result.statusCodeStats[String(status)]?.count ?? 0
  if (good < answered && !isWarming)
    throw new Error(`${what}: ${JSON.stringify(result.statusCodeStats)} ${result.errors} errors`)
  return {
    perSecond: answered / result.duration,
    cpuMicros: ((cpuMillisOf(pid) - before) * 1000) / answered
  }
}

/** What of an answer has to be the same: all but ids and moments that are made for it. */
const told = async (answer: Response) => {
  const {
    connection,
    date,
    "keep-alive": _,
    "x-request-id": __,
    ...headers
  } = Object.fromEntries(answer.headers)
  const made = answer.status === 201 ? /"(id|createdAt|updatedAt)":"[^"]*"/g : /(?!)/g
  return JSON.stringify([
    answer.status,
    Object.entries(headers)
      .filter(([name]) => name !== "content-length")
      .map(([name, value]) => `${name}: ${value.replace("; charset=utf-8", "")}`)
      .sort(),
    (await answer.text()).replace(made, '"$1"')
  ])
}

const site = async (server: string) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  const agentd = await startServer({
    DATABASE_URL: url,
    AGENTD_RATE_PER_MINUTE: "0",
    AGENTD_ANONYMOUS_PER_MINUTE: "0",
    AGENTD_DATABASE_POOL: String(sessions),
    AGENTD_DATABASE_TIMEOUT_SECONDS: "10",
    AGENTD_QUOTAS: '{"free":{"agents":null}}'
  })
  const { token, workspaceId } = JSON.parse(
    (await runCommand({ DATABASE_URL: url }, "bootstrap", "--json")).stdout
  )
  const client = makeClient(agentd.baseUrl, token)
  const beside = await startBeside(url)
  const { data: full } = await client.json("POST", "/api/workspaces", { name: "full" })
  const agent = { name: "Agent", description: "What it is for.", systemPrompt: "You are brief. ".repeat(4) }
  let id = ""
  for (let n = 0; n < 50; n++) {
    id = (await client.json("POST", "/api/agents", { ...agent, workspaceId: full.id })).data.id
  }
  const body = JSON.stringify({ ...agent, workspaceId })
  const loads: Record<string, Load> = {
    get: { what: "GET agent", method: "GET", path: `/api/agents/${id}`, status: 200, goal: "≥ 0.9×" },
    list: {
      what: "list of 50 agents",
      method: "GET",
      path: `/api/agents?workspaceId=${full.id}&limit=50`,
      status: 200,
      goal: "≥ 0.9×"
    },
    post: { what: "POST agent", method: "POST", path: "/api/agents", body, status: 201, goal: "≥ 0.9×" },
    ready: { what: "/health/ready", method: "GET", path: "/health/ready", status: 200, goal: "≥ 0.7×" }
  }
  const close = async () => {
    beside.stop()
    await agentd.stop("SIGTERM")
    await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
  }
  return { agentd, beside, close, loads, token, url }
}

const requireSame = async (
  servers: ReadonlyArray<{ readonly baseUrl: string }>,
  token: string,
  { body, method, path, what }: Load
) => {
  const headers = headersOf(token, body)
  const ask = async ({ baseUrl }: { readonly baseUrl: string }) =>
    told(await fetch(`${baseUrl}${path}`, { method, headers, ...(body !== undefined && { body }) }))
  const [one = "", other = ""] = await Promise.all(servers.map(ask))
  if (one === other) return
  const at = Math.max(0, [...one].findIndex((letter, n) => letter !== other[n]) - 100)
  throw new Error(`${what}: answers differ\n${one.slice(at, at + 300)}\n${other.slice(at, at + 300)}`)
}

const { url: server } = await openServer()
const { agentd, beside, close, loads, token, url } = await site(server)
const [postmaster] = await onDatabase(
  url,
  (sql) => sql<{ pid: number }>`
    select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int as pid`
)
pin(postmaster?.pid ?? 0, otherCore)
pin(process.pid, otherCore)
pin(agentd.pid, serverCore)
pin(beside.pid, serverCore)
// Sessions from before are of processes that were not pinned: the next ones are.
await onDatabase(
  url,
  (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()`
)

const of = (rounds: ReadonlyArray<Measured>): Measured => ({
  perSecond: median(rounds.map((round) => round.perSecond)),
  cpuMicros: median(rounds.map((round) => round.cpuMicros))
})

const report = openReport("requests", values.json)
try {
  for (const name of values.only.split(",")) {
    const load = loads[name]
    if (load === undefined) throw new Error(`there is no ${name}`)
    const rounds: Record<"agentd" | "beside", Array<Measured>> = { agentd: [], beside: [] }
    for (const one of [agentd, beside]) await measure(one, token, load, 2, true)
    await requireSame([agentd, beside], token, load)
    for (let round = 0; round < Number(values.rounds); round++) {
      rounds.agentd.push(await measure(agentd, token, load, seconds))
      rounds.beside.push(await measure(beside, token, load, seconds))
    }
    const [ours, others] = [of(rounds.agentd), of(rounds.beside)]
    const { goal, what } = load
    report.row({ what, agentd: ours.perSecond, beside: others.perSecond, unit: "req/s", goal })
    report.row({ what, agentd: ours.cpuMicros, beside: others.cpuMicros, unit: "µs CPU" })
  }
} finally {
  report.save()
  await close()
}
process.exit(0)
