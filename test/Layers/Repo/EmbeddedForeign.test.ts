import * as Fs from "node:fs"
import * as Path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeEngine } from "../../../src/Layers/Repo/Postgres/Embedded.ts"
import { databaseFolder, emptyFolder, makeTemplate, open, removeFolders } from "./EmbeddedFolders.ts"

beforeAll(makeTemplate)
afterAll(removeFolders)

type Content = Readonly<Record<string, string | null>>

/** Puts files, and folders where there is no text, into a folder. */
const put = (folder: string, content: Content) => {
  for (const [name, text] of Object.entries(content)) {
    const path = Path.join(folder, name)
    Fs.mkdirSync(text === null ? path : Path.dirname(path), { recursive: true })
    if (text !== null) Fs.writeFileSync(path, text)
  }
}

/** Everything that can be seen of a path from outside, with modes and contents. */
const seen = (path: string): unknown => {
  const stat = Fs.lstatSync(path)
  const inside = stat.isDirectory()
    ? Fs.readdirSync(path)
        .sort()
        .map((name) => [name, seen(Path.join(path, name))])
    : stat.isFile()
      ? Fs.readFileSync(path, "latin1")
      : null
  return [(stat.mode & 0o7777).toString(8), inside]
}

const refusal = (dataDir: string) =>
  Effect.map(Effect.flip(Effect.scoped(makeEngine({ dataDir }))), (error) => error.message)

const key = Buffer.alloc(32, 1).toString("base64")
const credentials = JSON.stringify({ baseUrl: "http://h:1", userId: "u", workspaceId: "w", token: "t" })

describe("a data folder that is not agentd's", () => {
  const foreign: ReadonlyArray<readonly [what: string, content: Content]> = [
    ["files of somebody", { "letter.txt": "dear" }],
    ["hidden files of somebody", { ".bashrc": "" }],
    ["other credentials", { "credentials.json": '{"type":"service_account"}' }],
    ["credentials that are no JSON", { "credentials.json": "hunter2" }],
    ["a key of something else", { "secret.key": "-----BEGIN PRIVATE KEY-----" }],
    ["a lock of something else", { "lock.db": "locked by me" }],
    ["files of somebody beside a lock", { "lock.db": "", "letter.txt": "dear" }],
    ["files of somebody beside credentials like ours", { "credentials.json": credentials, "index.js": "" }],
    ["a PostgreSQL server's own files", { PG_VERSION: "18\n", "postgresql.conf": "", base: null }],
    ["files of somebody beside a database", { "postgres/PG_VERSION": "18\n", "compose.yaml": "" }],
    [
      "a database of a server",
      { "postgres/PG_VERSION": "18\n", "postgres/postmaster.opts": "postgres -D /x" }
    ],
    ["a folder with a name of ours that is none", { "postgres/letter.txt": "dear" }],
    ["an export-like file of somebody", { "export-2026": "" }]
  ]
  it.live.each(foreign)("with %s is refused before anything of it is touched", ([, content]) =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      put(dataDir, content)
      Fs.chmodSync(dataDir, 0o755)
      const before = seen(dataDir)
      const sentence = yield* refusal(dataDir)
      assert.include(sentence, dataDir)
      assert.match(sentence, /AGENTD_DATA_DIR/u)
      assert.notInclude(sentence, "\n")
      assert.deepStrictEqual(seen(dataDir), before)
    })
  )

  it.live("is named with something that it holds", () =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      put(dataDir, { "letter.txt": "dear" })
      assert.strictEqual(
        yield* refusal(dataDir),
        `The folder ${dataDir} is not empty (letter.txt is in it), and not a data folder of agentd. Set AGENTD_DATA_DIR to a new or empty folder.`
      )
    })
  )

  it.live("and no folder at all is refused", () =>
    Effect.gen(function* () {
      const folder = emptyFolder()
      const [file, link, loop] = ["file", "link", "loop"].map((name) => Path.join(folder, name)) as [
        string,
        string,
        string
      ]
      Fs.writeFileSync(file, "dear", { mode: 0o644 })
      Fs.symlinkSync(Path.join(folder, "gone"), link)
      Fs.symlinkSync(loop, loop)
      const before = seen(folder)
      for (const dataDir of [file, Path.join(file, "below"), link, Path.join(link, "below"), loop]) {
        assert.match(yield* refusal(dataDir), /AGENTD_DATA_DIR to a folder that can be written to/u, dataDir)
      }
      assert.deepStrictEqual(seen(folder), before)
    })
  )

  // mkdir says there that what is above is missing, although it is there: making it again would never end.
  it.live.skipIf(!Fs.existsSync("/proc/self"))("and one that can't be made is refused at once", () =>
    Effect.gen(function* () {
      for (const dataDir of ["/proc/x", "/proc/x/y/z", "/proc/self/x"]) {
        const sentence = yield* refusal(dataDir)
        assert.include(sentence, `The data folder ${dataDir} can't be made: ENOENT`)
        assert.include(sentence, "Set AGENTD_DATA_DIR to a folder that can be written to.")
      }
      assert.match(yield* refusal("/proc"), /^The folder \/proc is not empty/u)
    })
  )
})

describe("a data folder of agentd", () => {
  const [exported, pid] = [`export-${crypto.randomUUID()}`, "agentd.sock"]
  /** What a process that was killed at its first start may leave, in order; and what an operator may put there. */
  const begun: ReadonlyArray<readonly [what: string, content: Content]> = [
    ["nothing", {}],
    ["what a new volume has", { "lost+found": null }],
    ["a lock", { "lock.db": "" }],
    ["a part of a database", { "lock.db": "", "postgres.new/base": null, "postgres.new/PG_VERSION": "18" }],
    ["an empty folder for it", { "lock.db": "", postgres: null }],
    ["a key half-way", { "lock.db": "", "secret.key.new": "AAA" }],
    ["a key", { "lock.db": "", "secret.key": key }],
    ["a key alone, to import what it has sealed", { "secret.key": `${key}\n` }],
    [
      "all but its database",
      { "lock.db": "", "secret.key": key, "credentials.json": credentials, [pid]: "", [exported]: "{}" }
    ],
    ["credentials half-way", { "lock.db": "", "credentials.json.new": "" }]
  ]
  it.live.each(begun)("with %s goes on", ([, content]) =>
    Effect.gen(function* () {
      const dataDir = emptyFolder()
      put(dataDir, content)
      // No database has to be made for this: it is stopped where it would be.
      const reached = yield* Effect.flip(
        Effect.scoped(makeEngine({ dataDir, onFirstStart: Effect.die("made") as never })).pipe(
          Effect.catchDefect((defect) => Effect.fail({ message: String(defect) }))
        )
      )
      assert.strictEqual(reached.message, "made")
    })
  )

  it.live("with its database goes on, whoever has put something beside it", () =>
    Effect.gen(function* () {
      const dataDir = yield* databaseFolder
      put(dataDir, { "lock.db": "", "backup.sh": "cp", "credentials.json": "" })
      const { sql } = yield* open({ dataDir })
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
      assert.strictEqual(Fs.readFileSync(Path.join(dataDir, "backup.sh"), "utf8"), "cp")
    })
  )

  it.live("behind a link goes on", () =>
    Effect.gen(function* () {
      const dataDir = Path.join(emptyFolder(), "link")
      Fs.symlinkSync(yield* databaseFolder, dataDir)
      const { sql } = yield* open({ dataDir })
      assert.deepStrictEqual(yield* sql`select 1 as n`, [{ n: 1 }])
    })
  )
})
