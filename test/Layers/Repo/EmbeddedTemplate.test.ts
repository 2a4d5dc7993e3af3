import * as Fs from "node:fs"
import * as Path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { seal } from "../../../src/Layers/Repo/Postgres/Embedded/template.ts"
import { databaseFolder, emptyFolder, makeTemplate, open, removeFolders } from "./EmbeddedFolders.ts"

beforeAll(makeTemplate)
afterAll(removeFolders)

/** A new folder opened with a template that was changed after it was sealed; tells whether it is a copy of it. */
const start = Effect.fnUntraced(function* (change: (template: string) => void) {
  const template = yield* databaseFolder
  seal(template, "0.0.0")
  const identifier = identifierOf(template)
  change(template)
  const dataDir = emptyFolder()
  const { sql } = yield* open({ dataDir, limits: { template } })
  const [row] = yield* sql<{ identifier: string }>`
    select system_identifier::text as identifier from pg_control_system()`
  yield* sql`create table written (id text)`
  return { dataDir, isCopy: row?.identifier === identifier }
})

/** Which database it is stands in the first bytes of its control file. */
const identifierOf = (template: string): string =>
  Fs.readFileSync(Path.join(template, "postgres/global/pg_control")).readBigUInt64LE(0).toString()

const modesBelow = (folder: string): ReadonlyArray<string> =>
  Fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => {
    const entry = Fs.statSync(Path.join(folder, path))
    return `${entry.isDirectory() ? "folder" : "file"} ${(entry.mode & 0o777).toString(8)}`
  })

describe("the template of a new embedded database", () => {
  it.effect("is copied, for its owner alone, and can be written to", () =>
    Effect.gen(function* () {
      const { dataDir, isCopy } = yield* start(() => {})
      assert.isTrue(isCopy)
      const modes = new Set(modesBelow(Path.join(dataDir, "postgres")))
      assert.deepStrictEqual([...modes].sort(), ["file 600", "folder 700"])
      assert.isFalse(Fs.existsSync(Path.join(dataDir, "postgres.new")))
    }).pipe(Effect.scoped)
  )

  for (const [what, name, change] of [
    ["a byte is other", "postgres/PG_VERSION", (file: string) => Fs.writeFileSync(file, "17\n")],
    ["a file is gone", "postgres/PG_VERSION", (file: string) => Fs.rmSync(file)],
    ["all files are gone", "postgres", (file: string) => Fs.rmSync(file, { recursive: true })],
    ["its sum is cut off", "manifest.json", (file: string) => Fs.truncateSync(file, 20)]
  ] as const) {
    it.effect(`is left alone when ${what}: PostgreSQL makes the database`, () =>
      Effect.gen(function* () {
        const { isCopy } = yield* start((template) => change(Path.join(template, name)))
        assert.isFalse(isCopy)
      }).pipe(Effect.scoped)
    )
  }

  it.effect("is no need", () =>
    Effect.gen(function* () {
      const { isCopy } = yield* start((template) => Fs.rmSync(Path.join(template, "manifest.json")))
      assert.isFalse(isCopy)
    }).pipe(Effect.scoped)
  )
})
