/**
 * What one token of a model costs on its way to the reader of a chat stream, beside a bare proxy (`beside/streams.mjs`)
 * that hands on the stream of the same model: agentd on PostgreSQL and the proxy on one core, each in turns, and
 * generator, model and PostgreSQL on the other.
 *
 *   node bench/streams.ts [--quick] [--only fast,250,1000 (up to 1,024 streams)] [--json FILE] [--cpu-prof FOLDER]
 *
 * CPU is that of the server process, from /proc; a token's delay is from the model's write to the generator's read.
 * Every text is compared with what the model sent, and every id with the one before. PostgreSQL is its own (`initdb` and
 * `pg_ctl` in PATH), with fsync on, or the scratch server of DATABASE_URL.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { cpus, loadavg } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { onDatabase, sleep } from "../test/support/Durability.ts"
import { removedAtTheEnd } from "../test/support/PostgresServer.ts"
import { runCommand, startServer } from "../test/support/Process.ts"
import { median } from "./support/Laws.ts"
import { openReport, quantile } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"
import { fastFrames, pacedTokens, readTokens, type TokenReader } from "./support/TokenReader.ts"

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "fast,250,1000" },
    json: { type: "string" },
    "cpu-prof": { type: "string" }
  }
})
const rounds = values.quick ? 1 : 3
const windowMillis = values.quick ? 6_000 : 15_000
const fastStreams = 8
const fastTokens = values.quick ? 20_000 : 40_000
const perSecond = 20
const streamsOfUser = 64
const mostStreams = 1_000
/** What does not answer at all counts as that. */
const patienceMillis = 5_000

const micros = () => Number(process.hrtime.bigint() / 1000n)

const onCore = (core: number, pid: number) => {
  if (cpus().length > 1) execFileSync("taskset", ["-acp", String(core), String(pid)], { stdio: "ignore" })
}
// What is started from here on is there too, until it is told otherwise.
onCore(1, process.pid)

/** A process that says where it listens. */
const startBeside = async (script: string, env: Readonly<Record<string, string>> = {}) => {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, script)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"]
  })
  removedAtTheEnd(() => child.kill("SIGKILL"))
  const url = await new Promise<string>((found, failed) => {
    child.stdout?.on("data", (text) => found(/http:\S+/.exec(String(text))?.[0] ?? ""))
    child.once("exit", (code) => failed(new Error(`${script} ended with ${code}`)))
  })
  return { baseUrl: url, pid: child.pid ?? 0 }
}

const model = await startBeside("support/StreamModel.ts")
const bare = await startBeside("beside/streams.mjs", { MODEL_URL: model.baseUrl })
const { url: postgres } = await openServer()
const name = `bench_${randomBytes(6).toString("hex")}`
await onDatabase(`${postgres}/postgres`, (sql) => sql`create database ${sql(name)}`)
const url = `${postgres}/${name}`
const profile = values["cpu-prof"]
const server = await startServer({
  DATABASE_URL: url,
  OPENAI_API_KEY: "sk-mock",
  OPENAI_BASE_URL: `${model.baseUrl}/v1`,
  AGENTD_DEFAULT_MODEL: "mock",
  AGENTD_ALLOW_PRIVATE_ADDRESSES: "true",
  AGENTD_RATE_PER_MINUTE: "0",
  AGENTD_TURN_CONCURRENCY: "2000",
  AGENTD_TURNS_PER_WORKSPACE: "1000",
  AGENTD_RUNS_PER_OWNER: "10000",
  AGENTD_QUOTAS: '{"free":{"pendingRuns":null,"tokens":null}}',
  ...(profile !== undefined && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` })
})
removedAtTheEnd(() => void server.stop("SIGKILL"))

const bootstrapped = JSON.parse((await runCommand({ DATABASE_URL: url }, "bootstrap", "--json")).stdout)
const workspaceId: string = bootstrapped.workspaceId
const tokens: Array<string> = [bootstrapped.token]
while (tokens.length * streamsOfUser < mostStreams) {
  const words = [
    "user",
    "create",
    "--email",
    `reader${tokens.length}@example.org`,
    "--workspace",
    workspaceId
  ]
  tokens.push(JSON.parse((await runCommand({ DATABASE_URL: url }, ...words, "--json")).stdout).token)
}
onCore(0, server.pid)
onCore(0, bare.pid)

interface Target {
  readonly name: "agentd" | "beside"
  readonly pid: number
  readonly baseUrl: string
  readonly send: (n: number, content: string) => TokenReader
}
const targets: ReadonlyArray<Target> = [
  {
    name: "agentd",
    pid: server.pid,
    baseUrl: server.baseUrl,
    send: (n, content) =>
      readTokens(server.baseUrl, "/api/chat/messages", tokens[n % tokens.length] ?? "", {
        workspaceId,
        content
      })
  },
  {
    name: "beside",
    pid: bare.pid,
    baseUrl: bare.baseUrl,
    send: (_, content) => readTokens(bare.baseUrl, "/", "", { content })
  }
]

const cpuMicros = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

interface Measured {
  readonly perSecond: number
  readonly cpuMicros: number
  /** Events that it took, for each token. */
  readonly frames: number
  /** In milliseconds. */
  readonly delays: ReadonlyArray<number>
  readonly health: ReadonlyArray<number>
}

const fast = async ({ pid, send }: Target, count: number): Promise<Measured> => {
  const before = cpuMicros(pid)
  const from = performance.now()
  const readers = Array.from({ length: fastStreams }, (_, n) => send(n, `fast ${count}`))
  await Promise.all(readers.map(({ end }) => end))
  const millis = performance.now() - from
  const all = fastStreams * count
  const cpu = (cpuMicros(pid) - before) / all
  const frames = readers.map((reader) => fastFrames(reader, count)).reduce((sum, some) => sum + some, 0)
  return { perSecond: (all / millis) * 1000, cpuMicros: cpu, frames: frames / all, delays: [], health: [] }
}

const asked = (agent: Agent, address: string) =>
  new Promise<void>((done) => {
    const request = get(address, { agent, timeout: patienceMillis }, (answer) =>
      answer.resume().once("end", done)
    )
    request.once("timeout", () => request.destroy())
    request.once("error", () => done())
  })

const watchHealth = (baseUrl: string) => {
  const agent = new Agent({ keepAlive: true })
  const millis: Array<number> = []
  let isOn = true
  const loop = async () => {
    while (isOn) {
      const at = performance.now()
      await asked(agent, `${baseUrl}/health/live`)
      if (isOn) millis.push(performance.now() - at)
      await sleep(25)
    }
    agent.destroy()
  }
  void loop()
  return () => {
    isOn = false
    return millis
  }
}

const toModel = (method: string, path: string) =>
  fetch(`${model.baseUrl}${path}`, { method }).then((a) => a.text())

const paced = async ({ baseUrl, pid, send }: Target, streams: number): Promise<Measured> => {
  const readers: Array<TokenReader> = []
  for (let n = 0; n < streams; n++) {
    readers.push(send(n, `paced ${perSecond}`))
    if (n % 10 === 9) await sleep(20)
  }
  const until = performance.now() + 20_000
  while (performance.now() < until && !readers.every(({ hasBegun }) => hasBegun())) await sleep(100)
  await sleep(2_000)
  const stopHealth = watchHealth(baseUrl)
  const [from, before] = [micros(), cpuMicros(pid)]
  await sleep(windowMillis)
  const [to, after] = [micros(), cpuMicros(pid)]
  const health = stopHealth()
  await toModel("POST", "/stop")
  const whole = new Set<TokenReader>()
  for (const reader of readers) void reader.end.then(() => whole.add(reader))
  const limit = performance.now() + 20_000
  while (performance.now() < limit && whole.size < readers.length) await sleep(100)
  const isWhole = readers.map((reader) => whole.has(reader))
  if (isWhole.includes(false))
    process.stderr.write(`${isWhole.filter((is) => !is).length} streams had no end\n`)
  for (const { leave } of readers) leave()
  let [arrived, frames, told] = [0, 0, 0]
  const delays: Array<number> = []
  for (const [n, reader] of readers.entries()) {
    const answer = pacedTokens(reader, isWhole[n] === true)
    frames += answer.frames
    told += answer.tokens.length
    for (const token of answer.tokens) {
      if (token.at < from || token.at >= to) continue
      arrived++
      delays.push(token.micros / 1000)
    }
  }
  return {
    perSecond: (arrived / (to - from)) * 1_000_000,
    cpuMicros: (after - before) / arrived,
    frames: frames / told,
    delays,
    health
  }
}

/** Each in turns, so that both have the same minutes; of the rounds, the median. */
const phase = async (title: string, measure: (target: Target) => Promise<Measured>) => {
  const seen = { agentd: [] as Array<Measured>, beside: [] as Array<Measured> }
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) seen[target.name].push(await measure(target))
  }
  const row = (what: string, unit: string | undefined, of: (measured: Measured) => number) => {
    const [agentd, beside] = [median(seen.agentd.map(of)), median(seen.beside.map(of))]
    if (Number.isNaN(agentd)) return
    report.row({ what: `${title}: ${what}`, agentd, beside, unit })
  }
  row("tokens", "per s", (measured) => measured.perSecond)
  row("CPU a token", "µs", (measured) => measured.cpuMicros)
  row("events a token", undefined, ({ frames }) => frames)
  row("delay", "ms p50", ({ delays }) => quantile(delays, 0.5))
  row("delay", "ms p99", ({ delays }) => quantile(delays, 0.99))
  row("/health/live", "ms p99", ({ health }) => quantile(health, 0.99))
}

const load = () => loadavg()[0]?.toFixed(1)
const only = new Set(values.only.split(","))
process.stdout.write(`node bench/streams.ts ${process.argv.slice(2).join(" ")}   # load ${load()} before\n`)
process.stdout.write(`Node.js ${process.versions.node}; ${cpus().length} × ${cpus()[0]?.model.trim()}\n\n`)
for (const target of targets) {
  for (let n = 0; n < 3; n++) await fast(target, 5_000)
}
const report = openReport("streams", values.json)
if (only.has("fast")) await phase(`fast model, ${fastStreams} streams`, (target) => fast(target, fastTokens))
for (const streams of [...only].map(Number).filter((count) => count > 0)) {
  await phase(`${streams} streams × ${perSecond}/s`, (target) => paced(target, streams))
}
process.stdout.write(`\nload ${load()} after\n`)
report.save()

await server.stop(profile === undefined ? "SIGKILL" : "SIGTERM")
await onDatabase(`${postgres}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
process.exit(0)
