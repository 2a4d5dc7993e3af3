import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Credentials } from "../../src/Schemas/Account.ts"

const root = resolve(import.meta.dirname, "../..")
/** Only ends what hangs. */
const startLimitMillis = 240_000

export interface Server {
  readonly baseUrl: string
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  /** Sends the signal and resolves with the exit code (null after SIGKILL). */
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>
}

const environment = (env: Readonly<Record<string, string>>): NodeJS.ProcessEnv => {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(DATABASE_URL|(OPENAI|ANTHROPIC|GOOGLE|AGENTD|OTEL)_.*)$/.test(name)
  )
  const patient = { AGENTD_DATABASE_TIMEOUT_SECONDS: "120", AGENTD_ENV_FILE: "/dev/null" }
  return { ...Object.fromEntries(own), PORT: "0", NODE_NO_WARNINGS: "1", ...patient, ...env }
}

const collected = (child: ChildProcess) => {
  const text = { stdout: "", stderr: "" }
  child.stdout?.on("data", (chunk) => {
    text.stdout += chunk
  })
  child.stderr?.on("data", (chunk) => {
    text.stderr += chunk
  })
  return text
}

const exited = (child: ChildProcess): Promise<number | null> =>
  new Promise((done) =>
    child.exitCode === null && child.signalCode === null ? child.once("exit", done) : done(child.exitCode)
  )

/** How the service is started: as `npm start` does, by npm itself, or by the command line. */
const commands = {
  node: [process.execPath, ["--import", "./scripts/require-node.mjs", "scripts/start.mjs"]],
  npm: ["npm", ["start", "--silent"]],
  agentd: [process.execPath, ["--import", "./scripts/require-node.mjs", "scripts/agentd.mjs", "serve"]]
} as const

/** The service as `npm start` runs it; resolves when it says that it listens. */
export const startServer = async (
  env: Readonly<Record<string, string>>,
  by: keyof typeof commands = "node",
  cwd = root
): Promise<Server> => {
  const [command, words] = commands[by]
  const child = spawn(command, words, {
    cwd,
    env: environment(env),
    stdio: ["ignore", "pipe", "pipe"]
  })
  const text = collected(child)
  const baseUrl = await new Promise<string>((found, failed) => {
    const limit = setTimeout(
      () => failed(new Error(`not listening in time: ${text.stderr}`)),
      startLimitMillis
    )
    child.stdout?.on("data", () => {
      const [, url] = /^agentd listening on (\S+)$/m.exec(text.stdout) ?? []
      if (url !== undefined) {
        clearTimeout(limit)
        found(url)
      }
    })
    child.once("exit", (code) => {
      clearTimeout(limit)
      failed(new Error(`ended with ${code}: ${text.stderr}`))
    })
  })
  return {
    baseUrl,
    pid: child.pid ?? 0,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    stop: (signal) => {
      child.kill(signal)
      return exited(child)
    }
  }
}

/** Runs a command of the command line to its end. */
export const runCommand = async (env: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) => {
  const script = ["--import", "./scripts/require-node.mjs", "scripts/agentd.mjs"]
  const child = spawn(process.execPath, [...script, ...words], {
    cwd: root,
    env: environment(env),
    stdio: ["ignore", "pipe", "pipe"]
  })
  const text = collected(child)
  const code = await exited(child)
  return { code, ...text }
}

export const makeDataDir = (): { readonly path: string; readonly remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), "agentd-e2e-"))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export const readCredentials = (dataDir: string): Credentials =>
  JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8"))

export interface SseEvent {
  readonly id: number
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
  readonly data: any
}

/** A client as a person would write one: fetch and JSON. */
export const makeClient = (baseUrl: string, token: string) => {
  const request = (method: string, path: string, json?: unknown, signal?: AbortSignal) =>
    fetch(`${baseUrl}${path}`, {
      method,
      ...(signal !== undefined && { signal }),
      headers: {
        authorization: `Bearer ${token}`,
        ...(json !== undefined && { "content-type": "application/json" })
      },
      ...(json !== undefined && { body: JSON.stringify(json) })
    })
  return {
    request,
    // biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
    json: async (method: string, path: string, json?: unknown): Promise<any> =>
      (await request(method, path, json)).json(),
    chat: async (json: object): Promise<ReadonlyArray<SseEvent>> =>
      parseEvents(await (await request("POST", "/api/chat/messages", json)).text())
  }
}

export const parseEvents = (text: string): ReadonlyArray<SseEvent> =>
  text
    .split("\n\n")
    .filter((block) => block.startsWith("id: "))
    .map((block) => {
      const [, id, event, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/s.exec(block) ?? []
      return { id: Number(id), event: event ?? "", data: JSON.parse(data ?? "null") }
    })
