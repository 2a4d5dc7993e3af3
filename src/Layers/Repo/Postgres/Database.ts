import { PgClient } from "@effect/sql-pg/PgClient"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import { Unavailable } from "../../../Schemas/Errors.ts"
import * as Waited from "../../../Schemas/Waited.ts"
import { DatabaseHealth } from "../../../Services/DatabaseHealth.ts"
import * as DatabaseWait from "../../../Services/DatabaseWait.ts"
import { Settings } from "../../../Services/Settings.ts"
import { Transaction } from "../../../Services/Transaction.ts"
import * as Entries from "../Entries.ts"
import { type Auditing, auditing, namesOf } from "./AuditEntries.ts"
import { Brief } from "./Brief.ts"
import { isOutOfReach, isReadOnly, isSqlError } from "./Faults.ts"
import { inLane } from "./Lanes.ts"
import { Replicated } from "./Replica.ts"

/** The database as the repositories see it: its client, and the one way to ask it. */
export class Database extends Context.Service<
  Database,
  {
    readonly sql: PgClient
    /**
     * Bounds the wait, and sorts failures: a database that can't be reached, not in time, or that only
     * reads at the moment, is `Unavailable` (`Faults.ts`); every other SQL failure and every row that does not
     * decode is a defect.
     */
    readonly query: <A, E>(
      effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>
    ) => Effect.Effect<A, Exclude<E, SqlError | Schema.SchemaError> | Unavailable>
    /** As `query`, for what only looks a row or two up by a key (`Brief`). */
    readonly lookUp: <A, E>(
      effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>
    ) => Effect.Effect<A, Exclude<E, SqlError | Schema.SchemaError> | Unavailable>
    /** As `query`, for lists and searches: on sessions of their own, so that they hold up nothing else. */
    readonly list: <A, E>(
      effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>
    ) => Effect.Effect<A, Exclude<E, SqlError | Schema.SchemaError> | Unavailable>
    /**
     * As `list`, for what may be a second old, and is not where this node has written: the replica may answer. `of` is
     * the workspace, or what of it is the target of entries of the audit log, and whom else it shows something of. Never
     * for what says who may do what, or what is not there.
     */
    readonly read: <A, E>(
      of: string | ReadonlyArray<string>,
      effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>
    ) => Effect.Effect<A, Exclude<E, SqlError | Schema.SchemaError> | Unavailable>
    /** As `query`, for what changes something: the statement takes the entries of the audit log with it. */
    readonly change: <A, E>(
      make: (audit: Auditing) => Effect.Effect<A, E | SqlError | Schema.SchemaError>
    ) => Effect.Effect<A, Exclude<E, SqlError | Schema.SchemaError> | Unavailable>
    /** As `query`, for what changes what lists of `of` show, and has no entry that says so. */
    readonly write: <A, E>(
      of: string,
      effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>
    ) => Effect.Effect<A, Exclude<E, SqlError | Schema.SchemaError> | Unavailable>
  }
>()("agentd/Layers/Repo/Postgres/Database") {
  static readonly layer = Layer.effect(
    Database,
    Effect.gen(function* () {
      const sql = yield* PgClient
      const { databaseTimeoutMillis } = yield* Settings
      const entries = yield* Entries.make
      const query = <A, E>(effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>) =>
        sortFailures(bounded(effect, databaseTimeoutMillis))
      const list = <A, E>(effect: Effect.Effect<A, E | SqlError | Schema.SchemaError>) =>
        query(inLane("lists")(effect))
      const replica = yield* Replicated
      const written = (names: ReadonlyArray<string>) =>
        Effect.flatMap(Writing, (within) => {
          for (const name of names) within?.add(name)
          return replica?.written(names) ?? Effect.void
        })
      return Database.of({
        sql,
        query,
        lookUp: (effect) => query(Effect.provideService(effect, Brief, true)),
        list,
        read: (of, effect) =>
          replica === undefined
            ? list(effect)
            : // A transaction reads what it has written itself.
              Effect.flatMap(Effect.serviceOption(sql.transactionService), (transaction) =>
                query(Option.isSome(transaction) ? effect : replica.read(of, effect))
              ),
        change: (make) =>
          Effect.flatMap(entries, (given) =>
            replica === undefined
              ? query(make(auditing(sql, given)))
              : Effect.tap(query(make(auditing(sql, given))), () => written(namesOf(given)))
          ),
        write: (of, effect) =>
          replica === undefined ? query(effect) : Effect.tap(query(effect), () => written([of]))
      })
    })
  )
}

/** What a transaction has written so far: who reads it when that is over must not be told what was before. */
class Writing extends Context.Reference<Set<string> | undefined>(
  "agentd/Layers/Repo/Postgres/Database/Writing",
  { defaultValue: () => undefined }
) {}

export const layerTransaction = Layer.effect(
  Transaction,
  Effect.gen(function* () {
    const { sql } = yield* Database
    const { databaseTimeoutMillis } = yield* Settings
    const replica = yield* Replicated
    /** A nested one is over when the outer one is. */
    const within = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Writing, (outer) => {
        if (outer !== undefined) return sql.withTransaction(effect)
        const names = new Set<string>()
        return Effect.ensuring(
          Effect.provideService(sql.withTransaction(effect), Writing, names),
          Effect.suspend(() => replica?.written([...names]) ?? Effect.void)
        )
      })
    return Transaction.of({
      atomically: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        sortFailures(
          bounded(replica === undefined ? sql.withTransaction(effect) : within(effect), databaseTimeoutMillis)
        ) as Effect.Effect<A, E | Unavailable, R>,
      afterCommit: sql.afterCommit,
      isOpen: Effect.map(Effect.serviceOption(sql.transactionService), Option.isSome)
    })
  })
)

/** Anybody may ask, as often as he likes: who asks while another does has the same answer, for one statement. */
export const layerHealth = Layer.effect(
  DatabaseHealth,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const scope = yield* Effect.scope
    // Takes a session that may write, finds nothing, and writes nothing.
    const probe = Effect.asVoid(sql`select id from users where false for update`)
    // The sessions that only read are replaced: what a new one says is what the server says.
    const look = DatabaseWait.apart(query(Effect.retry(probe, { times: 1, while: isReadOnly })))
    let looking: Deferred.Deferred<void, Unavailable> | undefined
    return DatabaseHealth.of({
      check: Effect.suspend(() => {
        if (looking !== undefined) return Deferred.await(looking)
        const answer = Deferred.makeUnsafe<void, Unavailable>()
        looking = answer
        const told = Effect.onExit(look, (exit) => {
          looking = undefined
          return Deferred.done(answer, exit)
        })
        return Effect.andThen(Effect.forkIn(Effect.exit(told), scope), Deferred.await(answer))
      })
    })
  })
)

const unavailable = new Unavailable({ error: "the database can't be reached; try again" })

/**
 * Answers after `millis` at the latest, or when what shares the limit has waited so long in all (`DatabaseWait`), also
 * where the caller can't be interrupted: work that is late is told to stop and left behind, since stopping may itself
 * wait for a server that is frozen. The wait for a connection of the pool is part of it.
 */
const bounded = <A, E, R>(effect: Effect.Effect<A, E, R>, millis: number) =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<A, E | Unavailable>((resume) => {
      const { end, left } = beginWait(context, millis)
      const late = Effect.andThen(
        Effect.annotateLogs(Effect.logWarning("the database did not answer in time"), { limitMs: millis }),
        unavailable
      )
      if (left <= 0) {
        end()
        return resume(late)
      }
      const run = Effect.runForkWith(context)
      const fiber = run(effect)
      const timer = run(
        Effect.andThen(
          Effect.sleep(left),
          Effect.sync(() => {
            end()
            resume(late)
            fiber.interruptUnsafe()
          })
        )
      )
      fiber.addObserver((exit) => {
        end()
        timer.interruptUnsafe()
        resume(exit)
      })
      return Effect.sync(() => {
        end()
        timer.interruptUnsafe()
        fiber.interruptUnsafe()
      })
    })
  )

/** How long this wait may take at most; it counts until its end is told. */
const beginWait = (context: Context.Context<never>, millis: number) => {
  const shared = Context.get(context, DatabaseWait.DatabaseWait)
  if (shared === undefined || shared.isOver) return { left: millis, end: () => {} }
  const clock = Context.get(context, Clock.Clock)
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const left = millis - Waited.total(shared.waited, now())
  shared.waited = Waited.begin(shared.waited, now())
  let isUnder = true
  const end = () => {
    if (isUnder) shared.waited = Waited.end(shared.waited, now())
    isUnder = false
  }
  return { left, end }
}

const sortFailures = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchCause(
    effect,
    (cause): Effect.Effect<never, Exclude<E, SqlError | Schema.SchemaError> | Unavailable> => {
      // A connection lost in a transaction is a defect of its rollback; the database is away all the same.
      const lost = cause.reasons
        .flatMap((reason) => (reason._tag === "Interrupt" ? [] : [causeOf(reason)]))
        .find(isOutOfReach)
      if (lost !== undefined) {
        return Effect.andThen(
          Effect.annotateLogs(Effect.logWarning("the database can't be reached"), {
            reason: lost.reason._tag
          }),
          unavailable
        )
      }
      const failure = Cause.findErrorOption(cause)
      return Option.isSome(failure) && (isSqlError(failure.value) || Schema.isSchemaError(failure.value))
        ? Effect.die(failure.value)
        : Effect.failCause(cause as Cause.Cause<Exclude<E, SqlError | Schema.SchemaError>>)
    }
  )

const causeOf = (reason: Cause.Fail<unknown> | Cause.Die): unknown =>
  reason._tag === "Fail" ? reason.error : reason.defect
