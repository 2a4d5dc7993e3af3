import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Engine, type EngineOptions } from "./Embedded/engine.ts"
import { EmbeddedDatabaseError, reasonOf } from "./Embedded/error.ts"
import * as Folder from "./Embedded/folder.ts"
import * as Lock from "./Embedded/lock.ts"
import * as Maintenance from "./Embedded/maintenance.ts"
import { connect } from "./Embedded/stream.ts"
import * as Upkeep from "./Embedded/upkeep.ts"

export interface EmbeddedOptions {
  /** Held by one process at a time; the database files are in its folder `postgres`. */
  readonly dataDir: string
  /** Runs before a database is made, which takes some seconds. */
  readonly onFirstStart?: Effect.Effect<void>
  /** Whether other users are kept out of the folder from now on (true). */
  readonly closes?: boolean
  readonly limits?: Partial<Omit<EngineOptions, "workerUrl" | "directory">>
}

// Bundled, the worker and the template lie beside the chunk that this is part of (scripts/build.mjs).
const isBundled = !import.meta.url.endsWith(".ts")
const workerUrl = new URL(isBundled ? "./postgres-worker.js" : "./Embedded/worker.ts", import.meta.url)
const template = isBundled ? fileURLToPath(new URL("./template", import.meta.url)) : undefined

const recoveryReportMillis = 5_000
/** A migration may have all there is to go through. */
const prepareMillis = 3_600_000

/** Tells now and then how far a database is that replays what was written before a crash. */
const reportRecovery = (engine: Engine) =>
  Effect.gen(function* () {
    yield* Effect.sleep(recoveryReportMillis)
    if (engine.recovery === undefined) return
    const [replayed, total] = [engine.recovery.replayed, engine.recovery.total].map((bytes) =>
      Math.round(bytes / 1024 / 1024)
    )
    yield* Effect.annotateLogs(Effect.logInfo("recovering the database"), {
      replayedMb: replayed,
      totalMb: total
    })
  }).pipe(Effect.forever, Effect.forkScoped)

/**
 * A running embedded PostgreSQL that holds its data folder. It answers when
 * this succeeds; closing the scope shuts it down in order, then frees the folder.
 */
export const makeEngine = Effect.fnUntraced(function* (options: EmbeddedOptions) {
  const dataDir = Path.resolve(options.dataDir)
  const directory = Path.join(dataDir, "postgres")
  yield* Folder.claim(dataDir)
  yield* Folder.check(dataDir, directory)
  yield* Lock.acquire(dataDir, options.closes)
  // What somebody has put there meanwhile counts as well.
  yield* Folder.claim(dataDir)
  if ((yield* Folder.check(dataDir, directory)) === "missing" && options.onFirstStart !== undefined) {
    yield* options.onFirstStart
  }
  const engine = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Engine({
          directory,
          workerUrl,
          template,
          startLimitMillis: 120_000,
          batchLimitMillis: 30_000,
          abandonedLimitMillis: 1_000,
          closeLimitMillis: 10_000,
          ...options.limits
        })
    ),
    (engine) => Effect.promise(() => engine.close())
  )
  yield* reportRecovery(engine)
  yield* Effect.tryPromise({
    try: () => engine.start(),
    catch: (cause) =>
      new EmbeddedDatabaseError({
        message: `The embedded PostgreSQL in ${dataDir} could not start: ${reasonOf(cause)}`
      })
  })
  return engine
})

/** A client of an engine, over the one connection that there can be. */
export const makeClient = (engine: Engine) =>
  PgClient.make({
    stream: () => connect(engine),
    ssl: false,
    username: "postgres",
    database: "postgres",
    applicationName: "agentd",
    maxConnections: 1,
    minConnections: 0,
    idleTimeout: Duration.infinity,
    connectTimeout: Duration.minutes(1),
    maxMessageSize: 64 * 1024 * 1024
  })

/**
 * PostgreSQL inside this process, for when there is no `DATABASE_URL`.
 *
 * What was committed survives `kill -9` and a loss of power. There is one
 * session: statements run one after the other, and one that waits for another
 * connection while it holds this one (`listen`, a second query beside a
 * transaction) waits for itself.
 *
 * It is given when `prepare` is done, which may take long, and is looked after
 * from then on: checkpoints, VACUUM and ANALYZE, between the statements of others.
 */
export const layer = <E = never>(
  options: EmbeddedOptions,
  prepare: Effect.Effect<unknown, E, SqlClient> = Effect.void
): Layer.Layer<PgClient.PgClient | SqlClient, EmbeddedDatabaseError | SqlError | E> =>
  PgClient.layerFrom(
    Effect.gen(function* () {
      const engine = yield* makeEngine(options)
      const sql = yield* makeClient(engine)
      yield* Maintenance.unhurried(engine, prepareMillis, Effect.provideService(prepare, SqlClient, sql))
      yield* Upkeep.start(Maintenance.make(engine, sql))
      return sql
    })
  )

/** The database of a folder as it is, neither migrated nor looked after. */
export const layerAsItIs = (dataDir: string) =>
  PgClient.layerFrom(Effect.flatMap(makeEngine({ dataDir, closes: false }), makeClient))

/** Whether there is a database in this data folder. Nothing is made to find out. */
export const isThere = (dataDir: string): boolean =>
  Fs.existsSync(Path.join(dataDir, "postgres", "PG_VERSION"))

/** The same of a folder that a start would take; fails with its sentence where it would not. */
export const examine = (dataDir: string) => Folder.examine(dataDir, Path.join(dataDir, "postgres"))
