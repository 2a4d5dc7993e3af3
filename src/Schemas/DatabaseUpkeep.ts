/** What of a database nobody looks after by itself, as it is at one moment. */
export interface WalState {
  /** Written since the last checkpoint, in bytes. */
  readonly written: number
  /** For how long nothing was written. */
  readonly idleMillis: number
}

/** A table, or the part of it that holds its long values, by the counters of the server. */
export interface TableState {
  readonly name: string
  readonly toast: boolean
  readonly live: number
  readonly dead: number
  /** Rows that were changed since its statistics were made. */
  readonly modified: number
  readonly bytes: number
  /** Whether it was vacuumed since the start: what was counted before is lost with each of them. */
  readonly known: boolean
  /** Transactions since its oldest row was frozen. */
  readonly age: number
}

export interface TableWork {
  readonly name: string
  readonly vacuum: boolean
  readonly analyze: boolean
}

/** Whether something waits for a quiet moment, or goes before whoever asks. */
export type Urgency = "none" | "wanted" | "overdue"

const mebibyte = 1024 * 1024
const overdueWal = 64 * mebibyte
const idleMillis = 5 * 60_000
/** Smaller tables cost nothing worth speaking of as they are. */
const unknownBytes = mebibyte
/** From here on PostgreSQL reads a table whole and freezes it (`vacuum_freeze_table_age`). */
const freezeAge = 150_000_000

/**
 * A checkpoint is made after 64 MB of WAL, since so much is replayed by the start after a crash; sooner, from half of
 * that, in a quiet moment, and when nothing was written for 5 minutes.
 */
export const checkpointUrgency = ({ idleMillis: idle, written }: WalState): Urgency => {
  if (written >= overdueWal) return "overdue"
  return written >= overdueWal / 2 || (written > 0 && idle >= idleMillis) ? "wanted" : "none"
}

/** The rows that may be dead before a table is vacuumed: a tenth, and some. */
const deadLimit = (live: number): number => 200 + live / 10
const modifiedLimit = (live: number): number => 500 + live / 10

const urgencyOf = (count: number, limit: number): Urgency => {
  if (count >= 2 * limit) return "overdue"
  return count >= limit ? "wanted" : "none"
}

/** What is to be done about a table, and how urgent it is. */
export const tableUrgency = (table: TableState): TableWork & { readonly urgency: Urgency } => {
  const { age, bytes, dead, known, toast, live, modified, name } = table
  const vacuum = urgencyOf(dead, deadLimit(live))
  const analyze = toast ? "none" : urgencyOf(modified, modifiedLimit(live))
  const freeze = urgencyOf(age, freezeAge)
  const unknown: Urgency = !known && bytes >= unknownBytes ? "wanted" : "none"
  const all = [vacuum, analyze, freeze, unknown]
  return {
    name,
    vacuum: [vacuum, freeze, unknown].some((urgency) => urgency !== "none"),
    analyze: analyze !== "none",
    urgency: all.includes("overdue") ? "overdue" : all.includes("wanted") ? "wanted" : "none"
  }
}
