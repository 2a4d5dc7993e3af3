import * as Fs from "node:fs"
import * as Path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Lock from "../../../src/Layers/Repo/Postgres/Embedded/lock.ts"
import { makeEngine } from "../../../src/Layers/Repo/Postgres/Embedded.ts"
import { eventually } from "../../support/Until.ts"
import {
  databaseFolder,
  emptyFolder,
  makeTemplate,
  open,
  removeFolders,
  startProcess
} from "./EmbeddedFolders.ts"

beforeAll(makeTemplate)
afterAll(removeFolders)

const inUse = (dataDir: string) =>
  `The data folder ${dataDir} is in use by another agentd process. Stop it, or set AGENTD_DATA_DIR to another folder.`

const refusal = (dataDir: string) =>
  Effect.map(Effect.flip(Effect.scoped(makeEngine({ dataDir }))), (e) => e.message)

const readableByOthers = (dataDir: string): Array<string> =>
  [".", ...Fs.readdirSync(dataDir, { recursive: true, encoding: "utf8" })].filter(
    (path) => (Fs.statSync(Path.join(dataDir, path)).mode & 0o077) !== 0
  )

/** Runs another process until it has said `line`, and gives all that it has said. */
const processUntil = (dataDir: string, line: (said: string) => boolean) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly said: string; readonly kill: () => Promise<void> }>((resolve) => {
          const child = startProcess(dataDir, (said) => {
            if (line(said)) resolve({ said, kill: child.kill })
          })
        })
    ),
    (child) => Effect.promise(child.kill)
  )

describe("Embedded folder", () => {
  it.live("is refused to a second user in the same process, and free afterwards", () =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Lock.acquire(dataDir)
          assert.strictEqual(yield* refusal(dataDir), inUse(dataDir))
          assert.strictEqual(yield* refusal(dataDir), inUse(dataDir))
        })
      )
      yield* Lock.acquire(dataDir)
    })
  )

  it.live("is refused to another process", () =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      yield* Lock.acquire(dataDir)
      const { said } = yield* processUntil(dataDir, () => true)
      assert.strictEqual(said, inUse(dataDir))
    })
  )

  it.live("is refused while another process has it, and free once that was killed", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const { kill } = yield* processUntil(dataDir, (said) => said === "open")
      assert.strictEqual(yield* refusal(dataDir), inUse(dataDir))
      yield* Effect.promise(kill)
      yield* open({ dataDir })
    })
  )

  it.live("is made on the first start alone, readable by its owner alone, without leftovers", () =>
    Effect.gen(function* () {
      const dataDir = Path.join(emptyFolder(), "made", "here")
      Fs.mkdirSync(Path.join(dataDir, "postgres.new"), { recursive: true })
      Fs.writeFileSync(Path.join(dataDir, "postgres.new", "PG_VERSION"), "18\n")
      let firstStarts = 0
      const onFirstStart = Effect.sync(() => {
        firstStarts++
      })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { sql } = yield* open({ dataDir, onFirstStart })
          yield* sql`create table wide as select repeat('x', 100) as filler from generate_series(1, 1000)`
          yield* sql`checkpoint`
          assert.deepStrictEqual(readableByOthers(dataDir), [])
        })
      )
      assert.strictEqual(firstStarts, 1)
      yield* Effect.scoped(open({ dataDir, onFirstStart }))
      assert.strictEqual(firstStarts, 1)
      assert.sameMembers(Fs.readdirSync(dataDir), ["lock.db", "postgres"])
    })
  )

  it.live("of another PostgreSQL major is refused by name", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      Fs.writeFileSync(Path.join(dataDir, "postgres", "PG_VERSION"), "17\n")
      assert.strictEqual(
        yield* refusal(dataDir),
        `The data folder ${dataDir} was made by PostgreSQL 17, and this agentd has PostgreSQL 18. Start the agentd that made it, or set AGENTD_DATA_DIR to another folder.`
      )
    })
  )

  it.live("that is no database is refused and left as it is", () =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      Fs.mkdirSync(Path.join(dataDir, "postgres"))
      Fs.writeFileSync(Path.join(dataDir, "postgres", "letter.txt"), "dear")
      assert.include(yield* refusal(dataDir), "is not a PostgreSQL database")
      assert.deepStrictEqual(Fs.readdirSync(Path.join(dataDir, "postgres")), ["letter.txt"])
    })
  )

  it.live("with a broken database gives a reason, and the lock back", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const control = Path.join(dataDir, "postgres", "global", "pg_control")
      const content = Fs.readFileSync(control)
      Fs.truncateSync(control, 10)
      assert.include(yield* refusal(dataDir), `The embedded PostgreSQL in ${dataDir} could not start`)
      Fs.writeFileSync(control, content)
      yield* open({ dataDir })
    })
  )

  it.live("is given back at once when the start is interrupted", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      const starting = yield* Effect.forkChild(Effect.scoped(makeEngine({ dataDir })))
      yield* eventually(
        Effect.sync(() => Fs.existsSync(Path.join(dataDir, "lock.db"))),
        "it has the lock"
      )
      yield* Fiber.interrupt(starting)
      yield* open({ dataDir })
    })
  )
})
