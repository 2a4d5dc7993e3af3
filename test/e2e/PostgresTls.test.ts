import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, inject, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Database } from "../../src/Layers/Repo/Postgres/Database.ts"
import * as Remote from "../../src/Layers/Repo/Postgres/Remote.ts"
import * as Signals from "../../src/Layers/Repo/Postgres/Signals.ts"
import { sentenceOf } from "../../src/Layers/Runtime.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { hasOpenssl, makeCertificate } from "../support/Certificates.ts"
import * as Postgres from "../support/Postgres.ts"
import { type PostgresServer, removeServer, startServer, temporaryFolder } from "../support/PostgresServer.ts"
import { runCommand } from "../support/Process.ts"
import { eventually } from "../support/Until.ts"

const opened = (url: string) =>
  Signals.layer.pipe(
    Layer.provideMerge(Database.layer),
    Layer.provideMerge(Layer.fresh(Remote.layer({ url: Redacted.make(url) }))),
    Layer.provide(Layer.succeed(Settings, Settings.defaults))
  )

/** Which sessions of the service there are, and whether each is encrypted. */
const sessions = Effect.flatMap(
  PgClient,
  (sql) => sql<{ name: string; ssl: boolean }>`
    select distinct application_name as name, ssl from pg_stat_ssl join pg_stat_activity using (pid)
    where application_name like 'agentd%' and datname = current_database() order by 1`
)

const suite = () => {
  const folder = temporaryFolder("agentd-tls-")
  let server: PostgresServer
  let own = ""
  let foreign = ""
  beforeAll(async () => {
    const { certificate, key } = makeCertificate(folder, "server")
    own = certificate
    foreign = makeCertificate(folder, "foreign").certificate
    server = await startServer(
      folder,
      `-c fsync=off -c ssl=on -c ssl_cert_file=${certificate} -c ssl_key_file=${key}`
    )
  })
  afterAll(() => removeServer(folder))

  /** This machine by an address that is not known to be this machine. */
  const elsewhere = (url: string) => url.replace("127.0.0.1", "0.0.0.0")

  const refusal = (url: string) =>
    Effect.map(Effect.flip(Effect.scoped(Layer.build(opened(url)))), sentenceOf)

  /** All sessions alike, also the one that listens. */
  const encrypted = (url: string, ssl: boolean) =>
    eventually(
      Effect.map(
        sessions,
        (found) =>
          ["agentd", "agentd listen"].every((name) => found.some((session) => session.name === name)) &&
          found.every((session) => session.ssl === ssl)
      ),
      `all sessions have TLS: ${ssl}`
    ).pipe(Effect.provide(opened(url)))

  it.live("is asked for TLS on another machine, whoever vouches for its certificate, also to listen", () =>
    Effect.suspend(() => encrypted(`${elsewhere(server.url)}/postgres`, true))
  )

  it.live("is left alone on this machine, and where the address says so", () =>
    Effect.suspend(() =>
      Effect.andThen(
        encrypted(`${server.url}/postgres`, false),
        encrypted(`${elsewhere(server.url)}/postgres?sslmode=disable`, false)
      )
    )
  )

  it.live("is asked on this machine where the address says so", () =>
    Effect.suspend(() => encrypted(`${server.url}/postgres?sslmode=require`, true))
  )

  it.live("is verified by authority, and by name, where the address says so", () =>
    Effect.gen(function* () {
      yield* encrypted(`${server.url}/postgres?sslmode=verify-full&sslrootcert=${own}`, true)
      // Its certificate has no such name.
      const other = `${elsewhere(server.url)}/postgres?sslrootcert=${own}&sslmode`
      yield* encrypted(`${other}=verify-ca`, true)
      assert.match(
        yield* refusal(`${other}=verify-full`),
        /^the certificate of the server at 0\.0\.0\.0 is not accepted: Hostname\/IP does not match .*\(sslmode and sslrootcert of DATABASE_URL\)$/u
      )
      for (const mode of ["verify-full", "verify-ca", "require"]) {
        assert.match(
          yield* refusal(`${server.url}/postgres?sslmode=${mode}&sslrootcert=${foreign}`),
          /^the certificate of the server at 127\.0\.0\.1 is not accepted: self-signed certificate/u
        )
      }
      assert.match(
        yield* refusal(`${server.url}/postgres?sslmode=verify-full`),
        /^the certificate of the server at 127\.0\.0\.1 is not accepted: self-signed certificate/u
      )
    })
  )

  it.live("has a sentence where sslrootcert is no file of certificates", () =>
    Effect.gen(function* () {
      const broken = join(folder, "broken.pem")
      writeFileSync(broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
      const empty = join(folder, "empty.pem")
      writeFileSync(empty, "")
      for (const file of [broken, empty, folder, join(folder, "gone.pem")]) {
        assert.strictEqual(
          yield* refusal(`${server.url}/postgres?sslmode=verify-full&sslrootcert=${file}`),
          `DATABASE_URL: the file ${file} of sslrootcert is not there, or has no certificates in PEM`
        )
      }
    })
  )

  it.live("is reached by `doctor` as by the service: encrypted, also to listen, and verified", () =>
    Effect.gen(function* () {
      const rules = join(folder, "data", "pg_hba.conf")
      // Nobody of this name is let in without.
      writeFileSync(rules, `hostnossl all only_tls all reject\n${readFileSync(rules, "utf8")}`)
      yield* Effect.flatMap(PgClient, (sql) =>
        Effect.andThen(sql`create role only_tls login superuser`, sql`select pg_reload_conf()`)
      ).pipe(Effect.provide(Postgres.client(`${server.url}/postgres`)))
      const named = server.url.replace("postgres@", "only_tls@")
      const inTheClear = Effect.scoped(Layer.build(opened(`${named}/postgres?sslmode=disable`)))
      yield* eventually(Effect.map(Effect.exit(inTheClear), Exit.isFailure), "the server is told of the rule")
      const doctor = (url: string) =>
        Effect.promise(async () => {
          const { stderr, stdout } = await runCommand({ DATABASE_URL: url }, "doctor", "--json")
          assert.notStrictEqual(stdout, "", stderr)
          const { checks } = JSON.parse(stdout) as { checks: ReadonlyArray<Record<string, string>> }
          const of = (name: string) => checks.find(({ check }) => check === name)
          return { database: of("database"), listen: of("listen") }
        })
      for (const url of [
        `${elsewhere(named)}/postgres`,
        `${named}/postgres?sslmode=verify-full&sslrootcert=${own}`
      ]) {
        const { database, listen } = yield* doctor(url)
        assert.deepStrictEqual([database?.status, listen?.status], ["ok", "ok"], database?.found)
      }
      for (const [url, sentence] of [
        [
          `${named}/postgres?sslmode=verify-full&sslrootcert=${foreign}`,
          /^can't be used: the certificate of the server at 127\.0\.0\.1 is not accepted: self-signed certificate/u
        ],
        [
          `${elsewhere(inject("postgres")?.url ?? "")}/postgres`,
          /^can't be used: the server at 0\.0\.0\.0 does not speak TLS: add sslmode=disable/u
        ],
        [
          `${named}/postgres?sslmode=verify-full&sslrootcert=/gone.pem`,
          /^can't be used: DATABASE_URL: the file \/gone\.pem of sslrootcert is not there/u
        ]
      ] as const) {
        const { database } = yield* doctor(url)
        assert.strictEqual(database?.status, "fail")
        assert.match(database?.found ?? "", sentence)
      }
    })
  )

  it.live("that does not speak it is a sentence which says what to do, also on the command line", () =>
    Effect.gen(function* () {
      const sentence =
        "the server at 0.0.0.0 does not speak TLS: add sslmode=disable to DATABASE_URL if the network is trusted"
      const plain = `${elsewhere(inject("postgres")?.url ?? "")}/postgres`
      assert.strictEqual(yield* refusal(plain), sentence)
      const migrate = (url: string) => Effect.promise(() => runCommand({ DATABASE_URL: url }, "migrate"))
      const refused = yield* migrate(plain)
      assert.deepStrictEqual([refused.code, refused.stderr], [1, `agentd: ${sentence}\n`])
      const done = yield* migrate(`${elsewhere(server.url)}/postgres`)
      assert.deepStrictEqual([done.code, done.stdout], [0, "the database is up to date\n"])
    })
  )
}

const name = "a PostgreSQL server"
if (Postgres.hasPostgres && hasOpenssl) describe(name, suite)
else describe.skip(`${name} (skipped: no PostgreSQL server, or no openssl, on this machine)`, suite)
