import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Effect from "effect/Effect"
import { EmbeddedDatabaseError, reasonOf } from "./error.ts"

/** The PostgreSQL major of the pinned PGlite. */
export const major = "18"

export type FolderState = "missing" | "usable"

const inspect = (dataDir: string, directory: string): FolderState | EmbeddedDatabaseError => {
  const entries = Fs.existsSync(directory) ? Fs.readdirSync(directory) : []
  if (entries.length === 0) return "missing"
  if (!entries.includes("PG_VERSION")) {
    return new EmbeddedDatabaseError({
      message: `The folder ${directory} is not a PostgreSQL database. Move it away, or set AGENTD_DATA_DIR to another folder.`
    })
  }
  const found = Fs.readFileSync(Path.join(directory, "PG_VERSION"), "utf8").trim()
  if (found === major) return "usable"
  return new EmbeddedDatabaseError({
    message: `The data folder ${dataDir} was made by PostgreSQL ${found}, and this agentd has PostgreSQL ${major}. Start the agentd that made it, or set AGENTD_DATA_DIR to another folder.`
  })
}

/** Everything that agentd makes in a data folder (docs/operations.md), and what a new volume comes with. */
const ownNames =
  /^(postgres(\.new)?|lock\.db(-journal)?|agentd\.sock|secret\.key(\.new)?|secret\.keys\.old(\.new)?|credentials\.json(\.new)?|export-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|lost\+found)$/u

const isKey = (text: string): boolean => text.trim() === "" || /^[A-Za-z0-9+/_-]{43}=?$/u.test(text.trim())

/** Files that others have under the same name look otherwise. */
const ownContents: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["secret.keys.old", (text: string) => text.split("\n").every(isKey)],
  ["secret.key", isKey],
  ["credentials.json", (text: string) => text.trim() === "" || isCredentials(text)]
])

const isCredentials = (text: string): boolean => {
  try {
    const { baseUrl, token, userId, workspaceId } = JSON.parse(text)
    return [baseUrl, token, userId, workspaceId].every((value) => typeof value === "string")
  } catch {
    return false
  }
}

const beginningOf = (path: string): string => {
  const bytes = Buffer.alloc(4096)
  const fd = Fs.openSync(path, "r")
  try {
    return bytes.toString("utf8", 0, Fs.readSync(fd, bytes))
  } finally {
    Fs.closeSync(fd)
  }
}

const isOwn = (dataDir: string, name: string): boolean => {
  if (!ownNames.test(name)) return false
  const path = Path.join(dataDir, name)
  // Not by opening it: a process that closes any descriptor of a file loses its locks on it.
  if (name === "lock.db") return Fs.statSync(path).isFile() && Fs.statSync(path).size === 0
  const looksOwn = ownContents.get(name)
  if (looksOwn !== undefined) return Fs.statSync(path).isFile() && looksOwn(beginningOf(path))
  // A server keeps this file as long as its database lives; PGlite never makes it.
  return name !== "postgres" || !Fs.existsSync(Path.join(path, "postmaster.opts"))
}

/**
 * Something in a folder that shows that it is not agentd's. A folder that agentd has had a database in stays its own,
 * whatever else was put there; before that, and where only the database was brought, all of it must be agentd's.
 */
const foreignOf = (dataDir: string): string | undefined => {
  const names = Fs.readdirSync(dataDir)
  const hadDatabase =
    names.includes("lock.db") &&
    isOwn(dataDir, "lock.db") &&
    isOwn(dataDir, "postgres") &&
    Fs.existsSync(Path.join(dataDir, "postgres", "PG_VERSION"))
  return hadDatabase ? undefined : names.find((name) => !isOwn(dataDir, name))
}

/** Makes what is missing of a path. Not by `recursive`: where /proc says that a parent is missing, it never ends. */
const makeFolder = (path: string): void => {
  if (Fs.existsSync(path)) return
  const parent = Path.dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    Fs.mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    // Somebody else was faster.
    if (!Fs.existsSync(path)) throw cause
  }
}

const unusable = (dataDir: string, what: string): EmbeddedDatabaseError =>
  new EmbeddedDatabaseError({
    message: `The data folder ${dataDir} ${what}. Set AGENTD_DATA_DIR to a folder that can be written to.`
  })

/**
 * Makes the data folder where it is missing. Refuses one that is not agentd's, or can't be used, and leaves it
 * as it is: mode, files and all.
 */
export const claim = (dataDir: string): Effect.Effect<void, EmbeddedDatabaseError> =>
  Effect.andThen(
    Effect.try({
      try: () => makeFolder(dataDir),
      catch: (cause) => unusable(dataDir, `can't be made: ${reasonOf(cause)}`)
    }),
    requireOwn(dataDir)
  )

/** As it is: whether there is a database in it. Refuses what `claim` refuses, and makes nothing. */
export const examine = (
  dataDir: string,
  directory: string
): Effect.Effect<FolderState, EmbeddedDatabaseError> =>
  Effect.suspend(() =>
    Fs.existsSync(dataDir)
      ? Effect.andThen(requireOwn(dataDir), check(dataDir, directory))
      : Effect.succeed("missing" as const)
  )

const requireOwn = (dataDir: string): Effect.Effect<void, EmbeddedDatabaseError> =>
  Effect.gen(function* () {
    const foreign = yield* Effect.try({
      try: () => {
        if (!Fs.statSync(dataDir).isDirectory()) throw new Error("it is not a folder")
        Fs.accessSync(dataDir, Fs.constants.R_OK | Fs.constants.X_OK)
        const found = foreignOf(dataDir)
        if (found === undefined) Fs.accessSync(dataDir, Fs.constants.W_OK)
        return found
      },
      catch: (cause) => unusable(dataDir, `can't be used: ${reasonOf(cause)}`)
    })
    if (foreign !== undefined) {
      return yield* new EmbeddedDatabaseError({
        message: `The folder ${dataDir} is not empty (${foreign} is in it), and not a data folder of agentd. Set AGENTD_DATA_DIR to a new or empty folder.`
      })
    }
  })

/** Tells whether the database has to be made first; refuses a folder that PostgreSQL could only damage. */
export const check = (
  dataDir: string,
  directory: string
): Effect.Effect<FolderState, EmbeddedDatabaseError> =>
  Effect.flatMap(
    Effect.try({
      try: () => inspect(dataDir, directory),
      catch: (cause) =>
        new EmbeddedDatabaseError({ message: `The folder ${directory} can't be read: ${reasonOf(cause)}` })
    }),
    (found) => (typeof found === "string" ? Effect.succeed(found) : Effect.fail(found))
  )
