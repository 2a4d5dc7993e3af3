import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Lag from "../../../Schemas/ReplicaLag.ts"
import { monotonicMillis, monotonicMillisOf } from "../../../Services/CurrentTime.ts"
import * as Metrics from "../../../Services/Metrics.ts"
import { whileAnswering } from "./Answering.ts"
import { isSqlError } from "./Faults.ts"
import { latest } from "./Migrations.ts"
import { onlyRow } from "./Rows.ts"

/** How often a replica is looked at, and how long both servers may take to answer. */
const lookMillis = 250
const answerMillis = 1_000
/** One line of the log for each time that it goes wrong, and not more than one in so long. */
const quietMillis = 60_000

const Identity = { system: Schema.String, database: Schema.String, timeline: Schema.Int }
const Primary = Schema.Struct({ ...Identity, position: Schema.Finite })
const Replica = Schema.Struct({
  ...Identity,
  standby: Schema.Boolean,
  position: Schema.NullOr(Schema.Finite),
  schema: Schema.NullOr(Schema.Int)
})
const primaryRow = onlyRow(Primary)
const replicaRow = onlyRow(Replica)

/** Where the log begins, so that a place in it is a number. */
const origin = "'0/0'"
const identity =
  "(select system_identifier::text from pg_control_system()) as system, current_database() as database"
const askPrimary = `
  select pg_wal_lsn_diff(pg_current_wal_lsn(), ${origin})::float8 as position, ${identity},
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline`
const askReplica = `
  select pg_is_in_recovery() as standby, ${identity},
    (select timeline_id from pg_control_checkpoint()) as timeline,
    pg_wal_lsn_diff(pg_last_wal_replay_lsn(), ${origin})::float8 as position,
    (select max(migration_id) from agentd_migrations) as schema`

/** What speaks against reading from this replica, whatever its lag. */
const objection = (primary: typeof Primary.Type, replica: typeof Replica.Type): string | undefined => {
  if (primary.system !== replica.system || primary.database !== replica.database) {
    return "it is none of the database of DATABASE_URL"
  }
  if (!replica.standby) return "it is no standby"
  // It may follow a primary that another has taken over from: the places in their logs can't be compared.
  if (primary.timeline !== replica.timeline) {
    return `it is at timeline ${replica.timeline} and the primary at ${primary.timeline}`
  }
  return (replica.schema ?? 0) < latest
    ? `it has the schema ${replica.schema}, and not ${latest} yet`
    : undefined
}

/** What is known of a replica, and what is to be said of it. */
export interface ReplicaState {
  readonly lag: () => Lag.ReplicaLag
  /** Is called when the replica has been silent for too long; the answer takes the listener out. */
  readonly onSilence: (listener: () => void) => () => void
  /** The log says so, once in a while. */
  readonly failed: (reason: string) => Effect.Effect<void>
  /** The same, if this is of a database. */
  readonly failedWith: (error: unknown) => Effect.Effect<void>
}

/** What the log says of a replica, each at most once in `quietMillis`. */
const makeSayings = (clock: Clock.Clock) => {
  const making = () => {
    let saidAt: number | undefined
    return (reason: string) =>
      Effect.suspend(() => {
        const now = monotonicMillisOf(clock)
        if (saidAt !== undefined && now - saidAt < quietMillis) return Effect.succeed(false)
        saidAt = now
        const line = Effect.logWarning("the replica of DATABASE_READ_URL is passed over: the primary answers")
        return Effect.as(Effect.annotateLogs(line, { reason }), true)
      })
  }
  const [ofReads, ofAll] = [making(), making()]
  let isOut = false
  return {
    /** A read has failed there; others may not. */
    failed: (reason: string) => Effect.asVoid(ofReads(reason)),
    /** It is passed over by all. */
    isOut: (reason: string) =>
      Effect.map(ofAll(reason), (isSaid) => {
        isOut ||= isSaid
      }),
    works: Effect.suspend(() => {
      if (!isOut) return Effect.void
      isOut = false
      return Effect.logInfo("the replica of DATABASE_READ_URL is read from again")
    })
  }
}

/**
 * Looks at the replica on a connection of its own, as long as the scope is open. How old it is is found by how far the
 * primary had come at a moment, so that neither an idle primary nor a wrong clock makes it look old.
 */
export const make = Effect.fnUntraced(function* (sql: SqlClient, config: PgConnection.Config) {
  const clock = yield* Clock.Clock
  const startedAt = monotonicMillisOf(clock)
  let lag = Lag.unknown
  let freshAt = startedAt
  let isThere = false
  const { failed, isOut, works } = makeSayings(clock)
  const listeners = new Set<() => void>()
  yield* Metrics.observe(Metrics.replicaLag, {}, () => (monotonicMillisOf(clock) - freshAt) / 1000)

  const look = Effect.fnUntraced(function* (connection: PgConnection.PgConnection) {
    const at = yield* monotonicMillis
    const primary = yield* primaryRow(sql.unsafe(askPrimary))
    const replica = yield* replicaRow(Effect.map(connection.query(askReplica), ({ rows }) => rows))
    const problem = objection(primary, replica)
    lag =
      problem === undefined && replica.position !== null
        ? Lag.observe(lag, { at, position: primary.position }, replica.position)
        : Lag.unknown
    isThere = true
    freshAt = lag.freshAt ?? freshAt
    if (problem !== undefined) return yield* isOut(problem)
    const now = yield* monotonicMillis
    if (!Lag.isFresh(lag, now, 0)) {
      yield* isOut(`it is ${Math.ceil((now - freshAt) / 1000)} s behind`)
    } else {
      yield* works
    }
  })

  const looking = Effect.fnUntraced(function* (answered: Latch.Latch) {
    const connection = yield* PgConnection.make({ ...config, applicationName: "agentd replica" })
    return yield* look(connection).pipe(
      Effect.andThen(answered.open),
      Effect.andThen(Effect.sleep(lookMillis)),
      Effect.forever
    )
  })

  yield* Effect.andThen(whileAnswering(looking, answerMillis + lookMillis), isOut("it does not answer")).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(isOut("it can't be reached"), Effect.logDebug("the replica is not looked at", cause))
    ),
    Effect.ensuring(
      Effect.sync(() => {
        isThere = false
        for (const listener of listeners) listener()
      })
    ),
    Effect.andThen(Effect.sleep(lookMillis)),
    Effect.forever,
    Effect.forkScoped
  )

  const state: ReplicaState = {
    lag: () => (isThere ? lag : Lag.unknown),
    onSilence: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    failed,
    failedWith: (error) =>
      isSqlError(error)
        ? failed(error.reason._tag)
        : Schema.isSchemaError(error)
          ? failed("SchemaError")
          : Effect.void
  }
  return state
})
