import { execFile, execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)
export const isRoot = process.getuid?.() === 0

/** PostgreSQL refuses to run as root. */
const command = (name: string, parameters: ReadonlyArray<string>): [string, ReadonlyArray<string>] =>
  isRoot ? ["runuser", ["-u", "postgres", "--", name, ...parameters]] : [name, parameters]

export const temporaryFolder = (prefix: string) => Fs.mkdtempSync(Path.join(Os.tmpdir(), prefix))

export const freePort = () =>
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

const listening = (port: number, settings: string) =>
  `-p ${port} -h 127.0.0.1 -c unix_socket_directories='' -c max_connections=200 ${settings}`

/** The server of the data in this folder, which is not started yet. */
const serverIn = (folder: string, port: number, settings: string) => {
  const data = Path.join(folder, "data")
  const control = (...words: ReadonlyArray<string>) =>
    run(
      ...command("pg_ctl", [
        ...["-D", data, "-l", Path.join(folder, "log"), "-o", listening(port, settings), "-w", "-t", "300"],
        ...words
      ]),
      { cwd: folder }
    )
  return {
    url: `postgres://postgres@127.0.0.1:${port}`,
    port,
    start: () => control("start"),
    stop: (mode: "fast" | "immediate") => control("-m", mode, "stop"),
    /** To all its processes: of one that is stopped, the others go on. */
    signal: (signal: "SIGSTOP" | "SIGCONT") => {
      const pid = Number(Fs.readFileSync(Path.join(data, "postmaster.pid"), "utf8").split("\n")[0])
      const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" })
      for (const one of [pid, ...children.trim().split(/\s+/u).map(Number)]) process.kill(one, signal)
    }
  }
}

/** A PostgreSQL server with these settings (`-c name=value …`) in a new folder, on a port of its own. */
export const startServer = async (folder: string, settings: string) => {
  const server = serverIn(folder, await freePort(), settings)
  if (isRoot) await run("chown", ["postgres", folder])
  const cluster = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
  await run(...command("initdb", ["-D", Path.join(folder, "data"), ...cluster]), { cwd: folder })
  await server.start()
  return server
}

/** A standby of that server in a new folder, by streaming replication. */
export const startStandby = async (folder: string, primary: PostgresServer, settings: string) => {
  const server = serverIn(folder, await freePort(), settings)
  if (isRoot) await run("chown", ["postgres", folder])
  const from = [
    "-h",
    "127.0.0.1",
    "-p",
    String(primary.port),
    "-U",
    "postgres",
    "-R",
    "-c",
    "fast",
    "--no-sync"
  ]
  await run(...command("pg_basebackup", ["-D", Path.join(folder, "data"), ...from]), { cwd: folder })
  await server.start()
  return server
}

/** Whether this machine has that program; without it, tests of it are skipped by name. */
export const hasProgram = (name: string): boolean => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

export type PostgresServer = ReturnType<typeof serverIn>

/** Stops the server of this folder, if there is one, and removes both. */
export const removeServer = (folder: string) => {
  if (Fs.existsSync(Path.join(folder, "data", "postmaster.pid"))) {
    const stop = command("pg_ctl", ["-D", Path.join(folder, "data"), "-m", "immediate", "-w", "stop"])
    execFileSync(...stop, { cwd: folder, stdio: "ignore" })
  }
  Fs.rmSync(folder, { recursive: true, force: true })
}
