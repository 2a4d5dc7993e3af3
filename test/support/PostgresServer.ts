import { execFile, execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

/** PostgreSQL refuses to run as root. */
const command = (name: string, parameters: ReadonlyArray<string>): [string, ReadonlyArray<string>] =>
  isRoot ? ["runuser", ["-u", "postgres", "--", name, ...parameters]] : [name, parameters]

export const temporaryFolder = (prefix: string) => Fs.mkdtempSync(Path.join(Os.tmpdir(), prefix))

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = Net.createServer()
    probe.once("error", reject).listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Calls `remove` once: in teardown, or when the process ends without it. */
export const removedAtTheEnd = (remove: () => void) => {
  let removed = false
  const once = () => {
    if (removed) return
    removed = true
    remove()
  }
  process.once("exit", once)
  return once
}

/** A signal that nobody listens to ends the process without its `exit` event. */
export const exitOnSignals = () => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129]
  ] as const) {
    process.once(signal, () => process.exit(code))
  }
}

/** A PostgreSQL server with these settings (`-c name=value …`) in a new folder, on a port of its own. */
export const startServer = async (folder: string, settings: string) => {
  const data = Path.join(folder, "data")
  const port = await freePort()
  const options = `-p ${port} -h 127.0.0.1 -c unix_socket_directories='' -c max_connections=200 ${settings}`
  const control = (...words: ReadonlyArray<string>) =>
    run(
      ...command("pg_ctl", [
        ...["-D", data, "-l", Path.join(folder, "log"), "-o", options, "-w", "-t", "300"],
        ...words
      ]),
      { cwd: folder }
    )
  if (isRoot) await run("chown", ["postgres", folder])
  const cluster = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
  await run(...command("initdb", ["-D", data, ...cluster]), { cwd: folder })
  await control("start")
  return {
    url: `postgres://postgres@127.0.0.1:${port}`,
    start: () => control("start"),
    stop: (mode: "fast" | "immediate") => control("-m", mode, "stop")
  }
}

export type PostgresServer = Awaited<ReturnType<typeof startServer>>

/** Stops the server of this folder, if there is one, and removes both. */
export const removeServer = (folder: string) => {
  if (Fs.existsSync(Path.join(folder, "data", "postmaster.pid"))) {
    const stop = command("pg_ctl", ["-D", Path.join(folder, "data"), "-m", "immediate", "-w", "stop"])
    execFileSync(...stop, { cwd: folder, stdio: "ignore" })
  }
  Fs.rmSync(folder, { recursive: true, force: true })
}
