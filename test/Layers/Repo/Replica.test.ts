import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Redacted from "effect/Redacted"
import * as Migrations from "../../../src/Layers/Repo/Postgres/Migrations.ts"
import * as Remote from "../../../src/Layers/Repo/Postgres/Remote.ts"
import { audited } from "../../../src/Services/Audited.ts"
import { ProjectRepo } from "../../../src/Services/ProjectRepo.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeWorkspace, newProject } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import {
  hasProgram,
  type PostgresServer,
  removedAtTheEnd,
  removeServer,
  startServer,
  startStandby,
  temporaryFolder
} from "../../support/PostgresServer.ts"
import { eventually } from "../../support/Until.ts"

/** What a request may take: much longer than anything takes here. */
const settings = { databaseTimeoutMillis: 3_600_000 }

const serverIn = (start: (folder: string) => Promise<PostgresServer>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const folder = temporaryFolder("agentd-test-replica-")
        const remove = removedAtTheEnd(() => removeServer(folder))
        return { server: await start(folder), remove }
      }),
      ({ remove }) => Effect.sync(remove)
    ),
    ({ server }) => server
  )

const asking = (server: PostgresServer, statement: string) =>
  Effect.gen(function* () {
    return yield* (yield* PgClient.PgClient).unsafe<Record<string, unknown>>(statement)
  }).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(`${server.url}/postgres`), maxConnections: 1 }), {
      local: true
    }),
    Effect.orDie
  )

/** A migrated primary and its standby, and a node of both. */
const makeBoth = Effect.gen(function* () {
  const primary = yield* serverIn((folder) => startServer(folder, "-c fsync=off"))
  const url = `${primary.url}/postgres`
  yield* Migrations.migrate.pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }), { local: true })
  )
  const standby = yield* serverIn((folder) => startStandby(folder, primary, "-c fsync=off"))
  const read = `${standby.url}/postgres`
  const remote = Remote.layer({ url: Redacted.make(url), read: Redacted.make(read) })
  const client = Layer.provide(remote, Layer.succeed(Settings, { ...Settings.defaults, ...settings }))
  const node = Effect.provideContext(yield* Layer.build(layerNode(Layer.fresh(client), settings)))
  return { node, primary, standby }
})

/** How many reads each has answered so far. */
const readsOf = (where: "primary" | "replica") =>
  Effect.map(Metric.snapshot, (found) =>
    found
      .filter(({ attributes, id }) => id === "database_reads_total" && attributes?.where === where)
      .reduce((sum, { state }) => sum + ("count" in state ? Number(state.count) : 0), 0)
  )

const listed = (workspaceId: Parameters<ProjectRepo["Service"]["list"]>[0]) =>
  Effect.flatMap(ProjectRepo, (projects) => projects.list(workspaceId))

const isReadBy = (where: "primary" | "replica", workspaceId: Parameters<typeof listed>[0]) =>
  Effect.gen(function* () {
    const before = yield* readsOf(where)
    yield* listed(workspaceId)
    return (yield* readsOf(where)) > before
  })

const suite = () => {
  it.live(
    "answers lists from the standby, and from the primary what this node has written and what is too old",
    () =>
      Effect.gen(function* () {
        const { node, standby } = yield* makeBoth
        yield* Effect.gen(function* () {
          const workspaceId = yield* makeWorkspace
          yield* eventually(isReadBy("replica", workspaceId), "the standby answers")
          const sessions = yield* asking(
            standby,
            "select 1 from pg_stat_activity where application_name = 'agentd lists'"
          )
          assert.isAbove(sessions.length, 0)

          // It gets nothing more, and is told so by nobody: what is written is in the next list all the same.
          yield* asking(standby, "select pg_wal_replay_pause()")
          const project = yield* newProject(workspaceId)
          yield* (yield* ProjectRepo).insert(project).pipe(audited("project.create", project))
          assert.deepStrictEqual(yield* listed(workspaceId), [project])

          // Another's write: a second later the standby is too old.
          const other = yield* newProject(workspaceId)
          yield* (yield* ProjectRepo).insert(other)
          yield* eventually(
            Effect.map(listed(workspaceId), (found) => found.length === 2),
            "the primary answers"
          )
          assert.isFalse(yield* isReadBy("replica", workspaceId))
          yield* asking(standby, "select pg_wal_replay_resume()")
          yield* eventually(isReadBy("replica", workspaceId), "the standby answers again")
        }).pipe(node)
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("answers from the primary while the standby is frozen, and when it is gone", () =>
    Effect.gen(function* () {
      const { node, standby } = yield* makeBoth
      yield* Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* eventually(isReadBy("replica", workspaceId), "the standby answers")
        standby.signal("SIGSTOP")
        yield* Effect.ensuring(
          isReadBy("primary", workspaceId).pipe(Effect.map(assert.isTrue)),
          Effect.sync(() => standby.signal("SIGCONT"))
        )
        yield* eventually(isReadBy("replica", workspaceId), "the standby answers again")
        yield* Effect.promise(() => standby.stop("immediate"))
        assert.isTrue(yield* isReadBy("primary", workspaceId))
        yield* Effect.promise(() => standby.start())
        yield* eventually(isReadBy("replica", workspaceId), "the standby is there again")
      }).pipe(node)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("answers from the primary while the standby has another schema, or is one no more", () =>
    Effect.gen(function* () {
      const { node, primary, standby } = yield* makeBoth
      yield* Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* eventually(isReadBy("replica", workspaceId), "the standby answers")
        const hidden = "set migration_id = -migration_id where abs(migration_id) ="
        yield* asking(primary, `update agentd_migrations ${hidden} ${Migrations.latest}`)
        yield* eventually(isReadBy("primary", workspaceId), "the primary answers")
        yield* asking(primary, `update agentd_migrations ${hidden} ${Migrations.latest}`)
        yield* eventually(isReadBy("replica", workspaceId), "the standby answers again")
        yield* asking(standby, "select pg_promote()")
        yield* eventually(isReadBy("primary", workspaceId), "the primary answers for one that was promoted")
      }).pipe(node)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
}

const name = "a replica"
if (!Postgres.hasPostgres) describe.skip(Postgres.skipped(name), suite)
else if (!(hasProgram("pg_basebackup") && hasProgram("ps"))) {
  describe.skip(`${name} (skipped: no pg_basebackup on this machine)`, suite)
} else describe(name, suite)
