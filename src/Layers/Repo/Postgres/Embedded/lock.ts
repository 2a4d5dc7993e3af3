import * as Fs from "node:fs"
import * as Path from "node:path"
import type { DatabaseSync } from "node:sqlite"
import * as Effect from "effect/Effect"
import { EmbeddedDatabaseError, reasonOf } from "./error.ts"

const sqliteBusy = 5

/** Loads SQLite without the warning that it is experimental; other warnings pass. */
const loadSqlite = (): typeof import("node:sqlite") => {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: Array<never>) => {
    if (!String(warning).includes("SQLite")) emitWarning.call(process, warning, ...rest)
  }) as typeof process.emitWarning
  try {
    return process.getBuiltinModule("node:sqlite")
  } finally {
    process.emitWarning = emitWarning
  }
}

const isBusy = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "errcode" in cause && cause.errcode === sqliteBusy

const lock = (dataDir: string, closes: boolean): DatabaseSync => {
  if (closes) Fs.chmodSync(dataDir, 0o700)
  const file = Path.join(dataDir, "lock.db")
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file)
  try {
    // Not by opening it: a process that closes any descriptor of a file loses its locks on it.
    Fs.chmodSync(file, 0o600)
    database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

/**
 * Holds a data folder, which is there and agentd's (`folder.ts`), for this process
 * alone, and closes it to other users unless `closes` is false. The operating system frees the lock when the
 * process ends, in whatever way.
 */
export const acquire = (dataDir: string, closes = true) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => lock(dataDir, closes),
      catch: (cause) =>
        new EmbeddedDatabaseError({
          message: isBusy(cause)
            ? `The data folder ${dataDir} is in use by another agentd process. Stop it, or set AGENTD_DATA_DIR to another folder.`
            : `The data folder ${dataDir} can't be locked: ${reasonOf(cause)}. Set AGENTD_DATA_DIR to a folder that can be written to.`
        })
    }),
    (database) => Effect.sync(() => database.close())
  )
