import { execFile, execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { promisify } from "node:util"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { TestProject } from "vitest/node"
import * as Embedded from "../../src/Layers/Repo/Postgres/Embedded.ts"
import * as Migrations from "../../src/Layers/Repo/Postgres/Migrations.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** A running PostgreSQL server and its migrated database to clone, or null where there is none. */
    readonly postgres: { readonly url: string; readonly template: string } | null
    /** The data folder of a migrated embedded database, closed: to copy, never to open. */
    readonly embeddedTemplate: string
  }
}

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
const template = "agentd_template"
const connectTimeout = "3 minutes"

/** PostgreSQL refuses to run as root. */
const command = (name: string, parameters: ReadonlyArray<string>): [string, ReadonlyArray<string>] =>
  isRoot ? ["runuser", ["-u", "postgres", "--", name, ...parameters]] : [name, parameters]

const temporaryFolder = (kind: string) => Fs.mkdtempSync(Path.join(Os.tmpdir(), `agentd-test-${kind}-`))

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = Net.createServer()
    probe.once("error", reject).listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const migrate = (url: string) =>
  Effect.scoped(
    Migrations.migrate.pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), connectTimeout })))
  )

const createTemplate = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    yield* sql`create database ${sql(template)}`
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1, connectTimeout })))

/** Calls `remove` once: in teardown, or when the process ends without it. */
const removedAtTheEnd = (remove: () => void) => {
  let removed = false
  const once = () => {
    if (removed) return
    removed = true
    remove()
  }
  process.once("exit", once)
  return once
}

const startServer = async (folder: string) => {
  const data = Path.join(folder, "data")
  const port = await freePort()
  const options = [
    `-p ${port} -h 127.0.0.1 -c unix_socket_directories='' -c max_connections=200`,
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
  ].join(" ")
  if (isRoot) await run("chown", ["postgres", folder])
  for (const [name, ...parameters] of [
    ["initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
    ["pg_ctl", "-D", data, "-l", Path.join(folder, "log"), "-o", options, "-w", "-t", "300", "start"]
  ] as const) {
    await run(...command(name, parameters), { cwd: folder })
  }
  return `postgres://postgres@127.0.0.1:${port}`
}

const reasonOf = (cause: unknown) => String(cause instanceof Error ? cause.message : cause).split("\n")[0]

const openPostgres = async () => {
  const folder = temporaryFolder("postgres")
  const close = removedAtTheEnd(() => {
    if (Fs.existsSync(Path.join(folder, "data", "postmaster.pid"))) {
      const stop = command("pg_ctl", ["-D", Path.join(folder, "data"), "-m", "immediate", "-w", "stop"])
      execFileSync(...stop, { cwd: folder, stdio: "ignore" })
    }
    Fs.rmSync(folder, { recursive: true, force: true })
  })
  try {
    if (process.env.AGENTD_TEST_WITHOUT_POSTGRES === "1") {
      throw new Error("AGENTD_TEST_WITHOUT_POSTGRES is set")
    }
    const url = await startServer(folder)
    await Effect.runPromise(createTemplate(`${url}/postgres`))
    await Effect.runPromise(migrate(`${url}/${template}`))
    return { close, postgres: { url, template } }
  } catch (cause) {
    close()
    process.stdout.write(`PostgreSQL is not on this machine: ${reasonOf(cause)}\n`)
    return { close, postgres: null }
  }
}

const openEmbedded = async () => {
  const embeddedTemplate = temporaryFolder("embedded")
  const close = removedAtTheEnd(() => Fs.rmSync(embeddedTemplate, { recursive: true, force: true }))
  try {
    await Effect.runPromise(
      Migrations.migrate.pipe(
        Effect.provide(Embedded.layer({ dataDir: embeddedTemplate, limits: { startLimitMillis: 280_000 } })),
        Effect.scoped
      )
    )
    return { close, embeddedTemplate }
  } catch (cause) {
    close()
    throw cause
  }
}

/** A signal that nobody listens to ends the process without its `exit` event. */
const exitOnSignals = () => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129]
  ] as const) {
    process.once(signal, () => process.exit(code))
  }
}

/** The databases that the test files clone: each is started and migrated once for all of them. */
export default async (project: TestProject) => {
  exitOnSignals()
  const [server, embedded] = await Promise.allSettled([openPostgres(), openEmbedded()])
  const close = () => {
    for (const opened of [server, embedded]) if (opened.status === "fulfilled") opened.value.close()
  }
  if (server.status === "rejected" || embedded.status === "rejected") {
    close()
    throw server.status === "rejected" ? server.reason : (embedded as PromiseRejectedResult).reason
  }
  project.provide("postgres", server.value.postgres)
  project.provide("embeddedTemplate", embedded.value.embeddedTemplate)
  return close
}
