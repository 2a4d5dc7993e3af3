import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { type EmbeddedOptions, makeClient, makeEngine } from "../../../src/Layers/Repo/Postgres/Embedded.ts"

const temporary: Array<string> = []

/** A new empty folder, removed by `removeFolders`. */
export const emptyFolder = (): string => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "agentd-embedded-"))
  temporary.push(folder)
  return folder
}

export const removeFolders = (): void => {
  for (const folder of temporary.splice(0)) Fs.rmSync(folder, { recursive: true, force: true })
}

let template = ""

/** Makes, once for all tests of a file, the database that `databaseFolder` copies. */
export const makeTemplate = async (): Promise<void> => {
  template = emptyFolder()
  await Effect.runPromise(Effect.scoped(open({ dataDir: template })))
}

/** A data folder with a new database in it, as a first start leaves it. */
export const databaseFolder = Effect.sync(() => {
  const folder = emptyFolder()
  Fs.cpSync(Path.join(template, "postgres"), Path.join(folder, "postgres"), { recursive: true })
  return folder
})

/** Opens a data folder, or a new one, until the scope closes. */
export const open = Effect.fnUntraced(function* (options: Partial<EmbeddedOptions> = {}) {
  const dataDir = options.dataDir ?? (yield* databaseFolder)
  const limits = { startLimitMillis: 280_000, ...options.limits }
  const engine = yield* makeEngine({ ...options, limits, dataDir })
  const sql = yield* Effect.provide(makeClient(engine), Reactivity.layer)
  return { dataDir, engine, sql }
})

/** Another process on a data folder; what it prints comes line by line. */
export const startProcess = (dataDir: string, onLine: (line: string) => void) => {
  const script = fileURLToPath(new URL("./EmbeddedProcess.ts", import.meta.url))
  const child = spawn(process.execPath, [script, dataDir], { stdio: ["ignore", "pipe", "inherit"] })
  let rest = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) onLine(line)
  })
  // All that it has printed has been read by then.
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  return {
    ended,
    kill: () => {
      child.kill("SIGKILL")
      return ended
    }
  }
}
