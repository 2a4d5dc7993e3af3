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
