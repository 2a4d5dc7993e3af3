/**
 * What the faces of other protocols cost who does not speak them: the time and CPU to the line that says that it listens, and
 * the memory then, of these sources beside those of a commit before there were faces; and what the first use of each adds.
 *
 *   node bench/faces.ts [--before COMMIT] [--pairs N] [--json FILE]     # ab9a123 15
 *
 * Both start as `npm start` does, one after the other in turn, each on a database of its own, of the PostgreSQL server of
 * DATABASE_URL or one of its own. CPU is of all threads; it, unlike the time, does not tell what else the machine does. Each
 * then does a turn of our own chat, and these sources use the faces once, one after the other. A line has medians; a ratio is
 * the median of those of the pairs. Exit code 1 where CPU to the start, or the memory in use at rest, is 5 % more.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { cpSync, rmSync, symlinkSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { loadedWith } from "../test/support/Chunks.ts"
import { onDatabase, sleep } from "../test/support/Durability.ts"
import { removedAtTheEnd, temporaryFolder } from "../test/support/PostgresServer.ts"
import { median } from "./support/Laws.ts"
import { line, type Row, rowHead, rowLine, save } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"
import { cpuMillisOf, residentOf } from "./support/Site.ts"

const { values } = parseArgs({
  options: {
    before: { type: "string", default: "ab9a123" },
    pairs: { type: "string", default: "15" },
    json: { type: "string" }
  }
})
const pairs = Number(values.pairs)
const goal = 1.05
/** What is done behind the start, such as the first looks for work, is over then. */
const restMillis = 1_000
const root = resolve(import.meta.dirname, "..")
const print = (text: string) => process.stdout.write(`${text}\n`)

/** The sources of a commit, with the packages that are here. */
const checkedOut = (commit: string) => {
  const folder = temporaryFolder("agentd-before-")
  removedAtTheEnd(() => rmSync(folder, { recursive: true, force: true }))
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1024 ** 3 })
  execFileSync("tar", ["-x", "-C", folder], { input: archive })
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return folder
}

/** The sources as they are now, in a folder where nobody changes them meanwhile. */
const copied = () => {
  const folder = temporaryFolder("agentd-now-")
  removedAtTheEnd(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ["package.json", "package-lock.json", "tsconfig.json", "console", "scripts", "src"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return folder
}

const wordsOf = (name: string) => ["--import", "./scripts/require-node.mjs", `scripts/${name}.mjs`]

const makeSide = async (server: string, folder: string) => {
  execFileSync(process.execPath, wordsOf("build"), { cwd: folder })
  const database = `faces_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql.unsafe(`create database ${database}`))
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(DATABASE_URL|(OPENAI|ANTHROPIC|GOOGLE|AGENTD|OTEL)_.*)$/u.test(name)
  )
  const env: Readonly<Record<string, string | undefined>> = {
    ...Object.fromEntries(own),
    PORT: "0",
    NODE_NO_WARNINGS: "1",
    NODE_OPTIONS: "--inspect-port=0",
    AGENTD_ENV_FILE: "/dev/null",
    AGENTD_SECRET_KEY: randomBytes(32).toString("base64"),
    DATABASE_URL: `${server}/${database}`
  }
  const bootstrap = [...wordsOf("agentd"), "bootstrap", "--json"]
  const { token, workspaceId } = JSON.parse(
    execFileSync(process.execPath, bootstrap, { cwd: folder, env, encoding: "utf8" })
  )
  const { folderOfBundle } = await import(pathToFileURL(join(folder, "scripts/build.mjs")).href)
  const atStart = loadedWith(folderOfBundle(), "main.js")
  return { folder, env, token: `${token}`, workspaceId: `${workspaceId}`, atStart }
}
type Side = Awaited<ReturnType<typeof makeSide>>

const children = new Set<ChildProcess>()
removedAtTheEnd(() => {
  for (const child of children) child.kill("SIGKILL")
})

interface Started {
  readonly baseUrl: string
  readonly pid: number
  readonly stop: () => Promise<unknown>
  /** The address of its inspector, once it is open. */
  readonly inspector: Promise<string>
  readonly millis: number
  readonly cpu: number
}

const start = async ({ env, folder }: Side): Promise<Started> => {
  const from = performance.now()
  const child = spawn(process.execPath, wordsOf("start"), {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = new Promise((done) => child.once("exit", done))
  const { pid = 0 } = child
  children.add(child)
  const stop = () => {
    children.delete(child)
    child.kill("SIGKILL")
    return ended
  }
  let told = ""
  const inspector = new Promise<string>((found) =>
    child.stderr.on("data", (chunk) => {
      told += chunk
      const [, address] = /^Debugger listening on (\S+)$/mu.exec(told) ?? []
      if (address !== undefined) found(address)
    })
  )
  let said = ""
  return new Promise<Started>((found, failed) => {
    child.once("exit", (code) => failed(new Error(`ended with ${code}: ${told}`)))
    child.stdout.on("data", (chunk) => {
      said += chunk
      const [, baseUrl] = /^agentd listening on (\S+)$/mu.exec(said) ?? []
      if (baseUrl === undefined) return
      found({ baseUrl, pid, stop, inspector, millis: performance.now() - from, cpu: cpuMillisOf(pid) })
    })
  })
}

/**
 * The memory that is in use, by V8 and outside of it, once the garbage is gone, by the inspector, which a signal opens: what the system says of a
 * process (RSS) also has whatever the collector has not looked at yet, and that is another amount each time.
 */
const inUse = async ({ inspector, pid }: Started): Promise<number> => {
  process.kill(pid, "SIGUSR1")
  const socket = new WebSocket(await inspector)
  await new Promise((done) => socket.addEventListener("open", done, { once: true }))
  const call = (id: number, method: string) =>
    new Promise<{ usedSize: number; backingStorageSize: number }>((done) => {
      const listen = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data))
        if (message.id !== id) return
        socket.removeEventListener("message", listen)
        done(message.result)
      }
      socket.addEventListener("message", listen)
      socket.send(JSON.stringify({ id, method }))
    })
  await call(1, "HeapProfiler.collectGarbage")
  await call(2, "HeapProfiler.collectGarbage")
  const { backingStorageSize, usedSize } = await call(3, "Runtime.getHeapUsage")
  socket.close()
  return (usedSize + backingStorageSize) / 1024 / 1024
}

interface Request {
  readonly name: string
  readonly path: string
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const hello = [{ role: "user", content: "hello" }]
const uiMessage = { id: "m", role: "user", parts: [{ type: "text", text: "hello" }] }
const faces: ReadonlyArray<Request> = [
  { name: "GET /v1/models", path: "/v1/models" },
  { name: "chat completions", path: "/v1/chat/completions", json: { model: "default", messages: hello } },
  { name: "responses", path: "/v1/responses", json: { model: "default", input: "hello" } },
  {
    name: "UI message stream",
    path: "/api/ui/default/chat",
    json: { id: "bench", messages: [uiMessage], trigger: "submit-message" }
  },
  {
    name: "MCP",
    path: "/mcp",
    headers: { accept: "application/json, text/event-stream" },
    json: {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } }
    }
  }
]

/** What a process measured, by what it is. */
type Sample = Map<string, number>
const refused = new Map<string, number>()

const measure = async (side: Side, requests: ReadonlyArray<Request>): Promise<Sample> => {
  const started = await start(side)
  const { baseUrl, cpu, millis, pid, stop } = started
  try {
    await sleep(restMillis)
    const sample: Sample = new Map([
      ["start, ms", millis],
      ["start, ms CPU", cpu],
      ["RSS at rest, MiB", residentOf(pid)],
      ["memory in use at rest, MiB", await inUse(started)],
      ["RSS without the garbage, MiB", residentOf(pid)]
    ])
    const own = { workspaceId: side.workspaceId, content: "hello" }
    const ours: Request = { name: "our own chat", path: "/api/chat/messages", json: own }
    for (const { headers, json, name, path } of [ours, ...requests]) {
      const answer = await fetch(`${baseUrl}${path}`, {
        method: json === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${side.token}`,
          ...(json !== undefined && { "content-type": "application/json" }),
          ...headers
        },
        ...(json !== undefined && { body: JSON.stringify(json) })
      })
      await answer.text()
      if (answer.status !== 200) refused.set(name, answer.status)
      await sleep(restMillis)
      sample.set(`memory in use after ${name}, MiB`, await inUse(started))
    }
    return sample
  } finally {
    await stop()
  }
}

const { url } = await openServer()
const sides = {
  before: await makeSide(url, checkedOut(values.before)),
  now: await makeSide(url, copied())
}
const samples: Array<{ readonly before: Sample; readonly now: Sample }> = []
for (let pair = -1; pair < pairs; pair++) {
  const before = () => measure(sides.before, [])
  const now = () => measure(sides.now, faces)
  const first = pair % 2 === 0 ? await before() : undefined
  const second = await now()
  const sample = { before: first ?? (await before()), now: second }
  // The first pair finds nothing of the files in memory.
  if (pair >= 0) samples.push(sample)
}

const rowOf = (what: string): Row => {
  const both = samples.map(({ before, now }) => ({
    before: before.get(what),
    now: now.get(what) ?? Number.NaN
  }))
  const ratios = both.flatMap(({ before, now }) => (before === undefined ? [] : [now / before]))
  return {
    what,
    agentd: median(both.map(({ now }) => now)),
    ...(ratios.length > 0 && { beside: median(both.map(({ before = Number.NaN }) => before)) }),
    ratio: ratios.length > 0 ? median(ratios) : null
  }
}
const bytesOf = ({ atStart }: Side) => atStart.reduce((sum, { bytes }) => sum + bytes, 0) / 1024
const loaded: Row = {
  what: "loaded at the start, KiB",
  agentd: bytesOf(sides.now),
  beside: bytesOf(sides.before),
  ratio: bytesOf(sides.now) / bytesOf(sides.before)
}
const rows = [loaded, ...[...(samples[0]?.now.keys() ?? [])].map(rowOf)]
print(rowHead)
for (const row of rows) print(rowLine(row))
for (const [name, status] of refused) print(line(`${name} answered ${status}: what it costs is not measured`))
save({ name: "faces", rows }, values.json)
const tooMuch = ["start, ms CPU", "memory in use at rest, MiB"]
  .map(rowOf)
  .filter(({ ratio }) => (ratio ?? 0) >= goal)
for (const { what } of tooMuch) print(`${what}: 5 % more than before, or more`)
process.exit(tooMuch.length > 0 ? 1 : 0)
