import * as PgClient from "@effect/sql-pg/PgClient"
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SqlClient from "effect/sql/SqlClient"
import type { Borrower, Connection } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import { monotonicMillisOf } from "../../../Services/CurrentTime.ts"
import { Brief } from "./Brief.ts"
import { isOfSession, isReadOnly, isSqlError, tookLong } from "./Faults.ts"
import { CurrentLane, type Lane } from "./Lanes.ts"
import * as PoolLoad from "./PoolLoad.ts"

/** While a server only reads, so are new sessions: they are not all replaced for each statement that says so. */
const quietNanos = 1_000_000_000n

/** So long a statement may hold up those behind it on a session that is shared. */
const briefMillis = 250

/** So long nothing is shared after a statement took too long there: where all do, each would be held up by all. */
const slowMillis = 1_000

/** Whatever waited so long on a session that is shared: the server would have broken it off, were it there. */
const lostMillis = 1_000

/** How many sessions are shared; of few none, nor of those that can't be told how long a statement may take there. */
const sharedOf = ({ maxConnections: size = 10, startupParameters }: PgClient.PgPoolConfig): number =>
  startupParameters === undefined || size < 4 ? 0 : size < 7 ? 1 : 2

/**
 * The client of `PgClient.layer`, whose pool gives up sessions that are of no use any more, also where they are
 * neither lost nor closed: one that may only read stays so after its server, or another behind the same address,
 * takes writes again. With the first that says so all are replaced, at most once a second; those that are in use
 * when they are given back.
 *
 * What is `Brief` is sent over sessions that are shared, many statements with one write, at most 32 of them at a time on
 * each; there they are answered one after the other. The server breaks off what takes long there. Whatever fails there, for
 * itself or with its session, is asked again on a session of its own, as everything else: it only reads.
 */
export const layer = (config: PgClient.PgPoolConfig, others: Others = {}) =>
  PgClient.layerFrom(make(config, others))

/** Pools of their own for the lanes beside the work; what has none shares that of the work. */
export type Others = Readonly<Partial<Record<Exclude<Lane, "work">, PgClient.PgPoolConfig>>>

/** A pool of sessions, `ofShared` of which take what is brief of many at a time. */
const makeLane = Effect.fnUntraced(function* (name: Lane, config: PgClient.PgPoolConfig, ofShared = 0) {
  const size = config.maxConnections ?? 10
  const pool = yield* PgPool.make({ ...config, maxConnections: size - ofShared })
  const shared = ofShared === 0 ? undefined : yield* makeShared(config, ofShared)
  const { pinned, plain } = makeWatched((base) =>
    Effect.andThen(pool.invalidate(base), shared?.invalidate(base) ?? Effect.void)
  )
  const counted = yield* PoolLoad.make(pool, { name, size, shared })
  const alone: Borrower = (use) => counted.use((base) => use(plain(base)))
  const turn = makeTurn()
  /** No statement of a session that is shared can be cancelled: where the way to it is lost, it is left for another. */
  const together: Borrower = (use) =>
    Effect.andThen(
      turn,
      counted.share((base) =>
        Effect.clockWith((clock) => {
          const begunAt = monotonicMillisOf(clock)
          return Effect.onInterrupt(use(plain(base)), () =>
            monotonicMillisOf(clock) - begunAt < lostMillis ? Effect.void : (shared ?? pool).invalidate(base)
          )
        })
      )
    )
  let aloneUntil = Number.NEGATIVE_INFINITY
  const brief: Borrower = (use) =>
    Effect.clockWith((clock) =>
      monotonicMillisOf(clock) < aloneUntil
        ? alone(use)
        : Effect.catchIf(together(use), isSqlError, (error) => {
            if (tookLong(error)) aloneUntil = monotonicMillisOf(clock) + slowMillis
            return alone(use)
          })
    )
  const borrower: Borrower =
    shared === undefined ? alone : (use) => Effect.flatMap(Brief, (isBrief) => (isBrief ? brief : alone)(use))
  return {
    pool,
    acquirer: Effect.map(counted.get, plain),
    borrower,
    transactionAcquirer: Effect.flatMap(counted.get, pinned)
  }
})

/**
 * Waits until what has come in is read, and then goes on together with all that wait: a session that is shared sends
 * in one write what it is given in one go, and else each request that is read has a write of its own.
 */
const makeTurn = (): Effect.Effect<void> => {
  let waiting: Array<() => void> = []
  const goOn = () => {
    const all = waiting
    waiting = []
    for (const resume of all) resume()
  }
  return Effect.callback<void>((resume) => {
    if (waiting.push(() => resume(Effect.void)) === 1) setImmediate(goOn)
  })
}

const makeShared = (config: PgClient.PgPoolConfig, size: number) =>
  PgPool.make({
    ...config,
    maxConnections: size,
    multiplex: true,
    startupParameters: {
      ...config.startupParameters,
      statement_timeout: String(briefMillis),
      lock_timeout: String(briefMillis)
    }
  })

const make = Effect.fnUntraced(function* (config: PgClient.PgPoolConfig, { lists, replica }: Others) {
  const work = yield* makeLane("work", config, sharedOf(config))
  const lanes = {
    work,
    lists: lists === undefined ? work : yield* makeLane("lists", lists),
    replica: replica === undefined ? work : yield* makeLane("replica", replica)
  }
  const { pool } = work
  const client = yield* SqlClient.make({
    driver: "pg",
    acquirer: Effect.flatMap(CurrentLane, (lane) => lanes[lane].acquirer),
    borrower: (use) => Effect.flatMap(CurrentLane, (lane) => lanes[lane].borrower(use)),
    transactionAcquirer: Effect.flatMap(CurrentLane, (lane) => lanes[lane].transactionAcquirer),
    compiler: PgClient.makeCompiler(),
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
  return Object.assign(client, {
    [PgClient.TypeId]: PgClient.TypeId,
    config,
    json: (value: unknown) => Statement.fragment([jsonParameter(value)]),
    listen: (channel: string) => Effect.flatMap(pool.reserve, (connection) => connection.listen(channel)),
    notify: (channel: string, payload: string) =>
      Effect.asVoid(client`select pg_notify(${channel}, ${payload})`)
  })
})

const jsonParameter = Statement.custom<PgClient.PgCustom>("PgJson")

/** PostgreSQL answers a COMMIT of what has failed with ROLLBACK. */
const commit = (connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    if ((result as { readonly command: string }).command !== "ROLLBACK") return Effect.void
    const message = "COMMIT rolled back an aborted transaction"
    return new SqlError({ reason: new UnknownError({ cause: new Error(message), message }) })
  })

/** The sessions of pools as connections, each of which is given up when it says that it is of no use. */
const makeWatched = (invalidate: PgPool.PgPool["invalidate"]) => {
  // Of those that are closed, nothing is kept but what the collector of garbage has not come by yet.
  const known = new Set<WeakRef<PgConnection>>()
  const connections = new WeakMap<PgConnection, Connection>()
  let replacedAt: bigint | undefined

  const replaceAll = Effect.gen(function* () {
    const at = yield* Clock.monotonicTimeNanos
    if (replacedAt !== undefined && at - replacedAt < quietNanos) return
    replacedAt = at
    const sessions = [...known].flatMap((one) => one.deref() ?? [])
    known.clear()
    yield* Effect.logWarning("the database only reads: its sessions are replaced")
    yield* Effect.forEach(sessions, invalidate, { discard: true })
  })

  const giveUp = (base: PgConnection) => (error: SqlError) => {
    if (isReadOnly(error)) return replaceAll
    return isOfSession(error) ? invalidate(base) : Effect.void
  }

  const plain = (base: PgConnection): Connection => {
    const made = connections.get(base)
    if (made !== undefined) return made
    for (const other of known) if (other.deref() === undefined) known.delete(other)
    known.add(new WeakRef(base))
    const connection = connectionOf(base, giveUp(base))
    connections.set(base, connection)
    return connection
  }

  return {
    plain,
    /** Held by nobody else until the scope closes. */
    pinned: (base: PgConnection) => {
      plain(base)
      return Effect.map(base.pin, (session) => connectionOf(session, giveUp(base)))
    }
  }
}

/** No names are transformed here, and so no rows. */
const connectionOf = (
  session: PgConnection,
  failed: (error: SqlError) => Effect.Effect<void>
): Connection => {
  const watched = <A>(effect: Effect.Effect<A, SqlError>) => Effect.tapError(effect, failed)
  const rows = (sql: string, params: ReadonlyArray<unknown>, prepare?: boolean) =>
    watched(Effect.map(session.query(sql, params, prepare), (result) => result.rows))
  const values = (sql: string, params: ReadonlyArray<unknown>, prepare?: boolean) =>
    watched(session.queryValues(sql, params, prepare))
  return {
    execute: (sql, params) => rows(sql, params),
    executeRaw: (sql, params) => watched(session.query(sql, params)),
    executeValues: (sql, params) => values(sql, params),
    executeValuesUnprepared: (sql, params) => values(sql, params, false),
    executeUnprepared: (sql, params) => rows(sql, params, false),
    executeStream: (sql, params) => Stream.tapError(session.stream(sql, params), failed)
  }
}
