import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Effect from "effect/Effect"
import { seal } from "../src/Layers/Repo/Postgres/Embedded/template.ts"
import { makeEngine } from "../src/Layers/Repo/Postgres/Embedded.ts"

/** Makes a new embedded database, without a table or a key in it, as what later ones are copied from. */
export const makeTemplate = async (folder: string, pglite: string): Promise<void> => {
  await Effect.runPromise(Effect.scoped(makeEngine({ dataDir: folder })))
  Fs.rmSync(Path.join(folder, "lock.db"))
  seal(folder, pglite)
}
