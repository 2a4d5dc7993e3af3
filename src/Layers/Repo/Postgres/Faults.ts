import * as Predicate from "effect/Predicate"
import type { SqlError, SqlErrorReason } from "effect/sql/SqlError"

/**
 * What a failure says of the database, by the SQLSTATE of PostgreSQL (appendix A of its manual). What is not named
 * here is the fault of the statement, and so a bug of ours.
 */
export const isSqlError = (error: unknown): error is SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"

/**
 * The database is away, or not in a state to do what was asked: the same statement may succeed later, perhaps on
 * another session or another server.
 */
export const isOutOfReach = (error: unknown): error is SqlError =>
  isSqlError(error) &&
  (outOfReach.has(error.reason._tag) ||
    awayStates.test(fieldOf(error, "code")) ||
    endsSession.has(fieldOf(error, "severityUnlocalized")) ||
    hasStalePlan(error))

/** The session may only read: that is how it was begun, or its server is a standby (now). */
export const isReadOnly = (error: unknown): boolean => isSqlError(error) && fieldOf(error, "code") === "25006"

/** Another session may do better than the one that answered so. */
export const isOfSession = (error: unknown): boolean =>
  isSqlError(error) && sessionStates.test(fieldOf(error, "code"))

/** Tries a statement again: what one of its rows names was removed while it was at it (23503), which it sees then. */
export const againWithoutGone = {
  while: (error: unknown) => isSqlError(error) && fieldOf(error, "code") === "23503",
  times: 4
}

/** The server has broken it off, since it or what it waited for took longer than it may. */
export const tookLong = (error: unknown): error is SqlError =>
  isSqlError(error) && tooLong.has(error.reason._tag)

const tooLong: ReadonlySet<SqlErrorReason["_tag"]> = new Set(["StatementTimeoutError", "LockTimeoutError"])

const outOfReach: ReadonlySet<SqlErrorReason["_tag"]> = new Set([
  "ConnectionError",
  "AuthenticationError",
  "StatementTimeoutError",
  "LockTimeoutError",
  "DeadlockError",
  "SerializationError"
])

/**
 * It may only read (25006); a transaction was rolled back for no fault of its own, or nobody knows whether it was
 * committed (40000, 40003); a session is not what it was, as behind a pooler (26000, 42P05); the database is not there
 * at the moment (3D000: it was when we started); out of resources (53), told to stop or not yet up (57P), an
 * error of the system beneath (58), a snapshot that is too old (72).
 */
const awayStates = /^(25006|26000|3D000|40000|40003|42P05|53|57P|58|72)/

const sessionStates = /^(08|26000|40003|42P05|58)/

/** Whatever the reason: the server has ended the session, or refused to begin it. */
const endsSession: ReadonlySet<string> = new Set(["FATAL", "PANIC"])

/** "cached plan must not change result type": after a migration, on a session that is older. */
const hasStalePlan = (error: SqlError) =>
  fieldOf(error, "code") === "0A000" && fieldOf(error, "routine") === "RevalidateCachedQuery"

/** A field of the answer of the server; empty where there was none. */
const fieldOf = (
  { reason: { cause } }: SqlError,
  name: "code" | "routine" | "severityUnlocalized"
): string => (Predicate.hasProperty(cause, name) ? String(cause[name]) : "")
