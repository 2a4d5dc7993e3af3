import * as Fs from "node:fs"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { TestProject } from "vitest/node"
import * as Embedded from "../../src/Layers/Repo/Postgres/Embedded.ts"
import * as Migrations from "../../src/Layers/Repo/Postgres/Migrations.ts"
import {
  exitOnSignals,
  removedAtTheEnd,
  removeServer,
  startServer,
  temporaryFolder
} from "./PostgresServer.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** A running PostgreSQL server and its migrated database to clone, or null where there is none. */
    readonly postgres: { readonly url: string; readonly template: string } | null
    /** The data folder of a migrated embedded database, closed: to copy, never to open. */
    readonly embeddedTemplate: string
  }
}

const template = "agentd_template"
const connectTimeout = "3 minutes"

const migrate = (url: string) =>
  Effect.scoped(
    Migrations.migrate.pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), connectTimeout })))
  )

const createTemplate = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    yield* sql`create database ${sql(template)}`
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1, connectTimeout })))

/** Nothing of it outlives the tests. */
const settings = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"

const reasonOf = (cause: unknown) => String(cause instanceof Error ? cause.message : cause).split("\n")[0]

const openPostgres = async () => {
  const folder = temporaryFolder("agentd-test-postgres-")
  const close = removedAtTheEnd(() => removeServer(folder))
  try {
    if (process.env.AGENTD_TEST_WITHOUT_POSTGRES === "1") {
      throw new Error("AGENTD_TEST_WITHOUT_POSTGRES is set")
    }
    const { url } = await startServer(folder, settings)
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
  const embeddedTemplate = temporaryFolder("agentd-test-embedded-")
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
