import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import {
  checkpointUrgency,
  type TableState,
  type TableWork,
  tableUrgency,
  type Urgency
} from "../../../../Schemas/DatabaseUpkeep.ts"

const tickMillis = 500
/** Tables are looked at so often while something is written, less often where nobody ever pauses, and by how much it is. */
const lookMillis = 10_000
const busyLookMillis = 30_000
const lookBytes = 8 * 1024 * 1024
/** A moment is quiet when nobody has asked anything for so long. */
const quietMillis = 100
/** What took longer is told to whoever reads the log: nobody was answered meanwhile. */
const longMillis = 1_000
const failedMillis = 3_600_000
/** After a crash, before anybody can ask: tables up to this size, one after the other, for so long. */
const tidyBytes = 512 * 1024 * 1024
const tidyMillis = 1_000

/** A database with one session, in which nobody else looks after anything. */
export interface Database {
  /** Whether it was left by a crash: what was dead in it then is not counted, and every list reads it. */
  readonly isRecovered: () => boolean
  /** How far the WAL is written, and from where a start would replay it, as positions. */
  readonly position: Effect.Effect<{ readonly wal: number; readonly redo: number }, SqlError>
  /** The first of these, as far as it is known without asking. */
  readonly wal: () => number
  /** For how long nobody has asked anything. */
  readonly quietMillis: () => number
  readonly checkpoint: Effect.Effect<void, SqlError>
  readonly tables: Effect.Effect<ReadonlyArray<TableState>, SqlError>
  readonly work: (work: TableWork) => Effect.Effect<void, SqlError>
}

type Due = TableWork & { readonly urgency: Urgency }

/**
 * Makes checkpoints, vacuums and analyzes (`Schemas/DatabaseUpkeep.ts` says when), as a PostgreSQL with all of its
 * processes does by itself. Nobody is answered meanwhile, so it is one table at a time, in a quiet moment; what is
 * overdue waits for none. It begins, where the database was left by a crash, with what can be done before anybody asks.
 */
export const start = Effect.fnUntraced(function* (database: Database) {
  let { redo, wal } = yield* database.position
  let writtenAt = yield* monotonicMillis
  let lookedAt = writtenAt
  let lookedWal = wal - 1
  let due: ReadonlyArray<Due> = []
  const failed = new Map<string, number>()

  const look = Effect.fnUntraced(function* (at: number) {
    lookedAt = at
    lookedWal = wal
    due = (yield* database.tables)
      .map(tableUrgency)
      .filter(
        ({ name, urgency }) =>
          urgency !== "none" && at >= (failed.get(name) ?? Number.NEGATIVE_INFINITY) + failedMillis
      )
  })

  const work = Effect.fnUntraced(function* (table: Due, at: number) {
    due = due.filter(({ name }) => name !== table.name)
    failed.set(table.name, at)
    const what = table.vacuum ? "a table was vacuumed" : "a table was analyzed"
    yield* timed(what, { table: table.name }, database.work(table))
    failed.delete(table.name)
  })

  const tidy = Effect.gen(function* () {
    const startedAt = yield* monotonicMillis
    const tables = (yield* database.tables).filter(({ bytes }) => bytes <= tidyBytes).map(tableUrgency)
    for (const table of tables.filter(({ vacuum }) => vacuum)) {
      const at = yield* monotonicMillis
      if (at - startedAt >= tidyMillis) break
      yield* work(table, at)
    }
  })

  const tick = Effect.gen(function* () {
    const at = yield* monotonicMillis
    const isQuiet = database.quietMillis() >= quietMillis
    const goes = (urgency: Urgency) => urgency === "overdue" || (urgency === "wanted" && isQuiet)
    if (database.wal() > wal) {
      wal = database.wal()
      writtenAt = at
    }
    if (goes(checkpointUrgency({ written: wal - redo, idleMillis: at - writtenAt }))) {
      const walMb = Math.round((wal - redo) / 1024 / 1024)
      yield* timed("a checkpoint was made", { walMb }, database.checkpoint)
      redo = wal = Math.max(wal, database.wal())
      return
    }
    const lookAfter = isQuiet ? lookMillis : busyLookMillis
    if (wal - lookedWal >= lookBytes || (wal !== lookedWal && at - lookedAt >= lookAfter)) yield* look(at)
    const overdue = due.filter(({ urgency }) => urgency === "overdue")
    const next = overdue.length > 0 || !isQuiet ? overdue : due.slice(0, 1)
    for (const table of next) yield* work(table, at)
  })

  const logged = Effect.ignoreCause({ log: "Warn", message: "the database was not looked after" })
  if (database.isRecovered()) yield* logged(tidy)
  yield* tick.pipe(logged, Effect.andThen(Effect.sleep(tickMillis)), Effect.forever, Effect.forkScoped)
})

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1_000_000)

const timed = <E>(
  what: string,
  facts: Readonly<Record<string, string | number>>,
  effect: Effect.Effect<void, E>
) =>
  Effect.gen(function* () {
    const startedAt = yield* monotonicMillis
    yield* effect
    const durationMs = Math.round((yield* monotonicMillis) - startedAt)
    const log = durationMs < longMillis ? Effect.logDebug : Effect.logInfo
    yield* Effect.annotateLogs(log(what), { ...facts, durationMs })
  })
