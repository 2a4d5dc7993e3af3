import * as Fs from "node:fs/promises"
import * as Os from "node:os"
import * as Path from "node:path"
import { inject } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Embedded from "../../src/Layers/Repo/Postgres/Embedded.ts"

const template = inject("embeddedTemplate")

/** Its limits are no matter of tests that only need a database. */
const patient = { startLimitMillis: 280_000, batchLimitMillis: 280_000 }

/** A data folder with a migrated embedded database in it, which is removed with the scope. */
const migratedFolder = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = await Fs.mkdtemp(Path.join(Os.tmpdir(), "agentd-test-copy-"))
    await Fs.cp(template, folder, { recursive: true })
    return folder
  }),
  (folder) => Effect.promise(() => Fs.rm(folder, { recursive: true, force: true }))
)

/** A client of an embedded database of its own. */
export const layerClient = Layer.unwrap(
  Effect.map(migratedFolder, (dataDir) => Embedded.layer({ dataDir, limits: patient }))
)
