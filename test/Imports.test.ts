import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { isPort, violations } from "./support/Boundaries.ts"
import { parse, parseAll, read, type Source, targetOf } from "./support/Sources.ts"

const root = resolve(import.meta.dirname, "..")
const { dependencies } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"))
const declared = new Set(Object.keys(dependencies))
const texts = read(resolve(root, "src"))
const sources = parseAll(texts)

/** What is found with a line added to each of these files; a file that is not there is made. */
const foundWith = (lines: Readonly<Record<string, string>>) => {
  const planted = Object.entries(lines).map(([file, line]): [string, Source] => [
    file,
    parse(file, `${texts.get(file) ?? ""}\n${line}\n`)
  ])
  return violations(new Map([...sources, ...planted]), declared)
}

const rulesBroken = (lines: Readonly<Record<string, string>>, file: string, imports: string) =>
  foundWith(lines)
    .filter((violation) => violation.file === file && violation.imports === imports)
    .map(({ rule }) => rule)

const assertBroken = (broken: ReadonlyArray<string>, rule: string) =>
  assert.isTrue(
    broken.some((words) => words.startsWith(rule)),
    `"${rule}" is not among: ${broken.join("; ")}`
  )

describe("imports", () => {
  it("of this tree break no rule", () => {
    assert.isAbove(sources.size, 200)
    assert.deepStrictEqual(violations(sources, declared), [])
  })

  it.each([
    [
      "Services/Access.ts",
      "./Chat.ts",
      "no circles: Services/Access.ts -> Services/Chat.ts -> Services/Access"
    ],
    ["Schemas/Ids.ts", "./Run.ts", "no circles: Schemas/Ids.ts -> Schemas/Run.ts -> Schemas/Ids.ts"],
    ["Layers/Scheduler.ts", "./Repo/Postgres/RunRepo.ts", "Layers/Scheduler may not know"],
    ["Layers/Inference.ts", "../Services/Workspaces.ts", "Layers/Inference may not know"],
    ["Layers/Tools/Builtin.ts", "../../Services/Workspaces.ts", "Layers/Tools may not know"],
    ["Layers/SecretBox/Ring.ts", "../../Services/Runs.ts", "Layers/SecretBox may not know"],
    ["Layers/Outbound.ts", "../Services/Accounts.ts", "Layers/Outbound may not know"],
    ["Layers/Repo.ts", "../Services/Access.ts", "Layers/Repo may not know"],
    ["Layers/Auth/Origin.ts", "../../Services/CronJobs.ts", "Layers/Auth may not know"],
    ["Layers/Inference.ts", "../Api/Authorization.ts", "Layers/Inference may not know"],
    ["Layers/Http.ts", "./Auth/Authorization.ts", "Layers/Http may not know"],
    ["Layers/Http/Data.ts", "node:fs", "Layers/Http may not know this package"],
    ["Layers/Application.ts", "./Inference/Offline.ts", "Layers/Application may not know"],
    ["Layers/Database.ts", "./Operator/Reach.ts", "Layers/Database may not know"],
    ["Layers/Operator/Reach.ts", "../Database.ts", "Layers/Operator may not know"],
    ["Layers/Server/FirstStart.ts", "../Repo.ts", "Layers/Server may not know"],
    ["Layers/Runtime.ts", "../Services/Accounts.ts", "Layers/Runtime may not know"],
    ["Layers/Settings.ts", "./Runtime.ts", "Layers/Settings may not know"],
    ["Layers/SecretFiles.ts", "./Settings.ts", "Layers/SecretFiles may not know"],
    ["Layers/Output.ts", "./Settings.ts", "Layers/Output may not know"],
    ["Api/Runs.ts", "../Services/Runs.ts", "Api may not know"],
    ["Services/Runs.ts", "../Api/Runs.ts", "Services may not know"],
    ["Services/RunRepo.ts", "./Runs.ts", "a port knows no use case"],
    ["Services/Runs.ts", "./Gone.ts", "an import names a file of src"],
    ["Services/Runs.ts", "node:fs", "Services may not know this package"],
    ["Services/Runs.ts", "effect/FileSystem", "Services may not know this package"],
    ["Schemas/Run.ts", "../Services/Ids.ts", "Schemas may not know"],
    ["Schemas/Run.ts", "effect/http/Headers", "Schemas may not know this package"],
    ["Api/Runs.ts", "effect/http/Headers", "Api may not know this package"],
    ["Layers/Repo/InMemory/Store.ts", "effect/sql/SqlClient", "SQL stands in Layers/Repo/Postgres"],
    ["Layers/Database.ts", "@effect/sql-pg/PgClient", "SQL stands in Layers/Repo/Postgres"],
    ["Layers/Outbound/Client.ts", "undici", "a package that is imported is a dependency"],
    ["Layers/Tools/Mcp.ts", "@effect/vitest/utils", "a package that is imported is a dependency"]
  ])("of %s that name %s are found: %s", (file, path, rule) => {
    // Types are imports as well.
    assertBroken(
      rulesBroken({ [file]: `import type * as P from "${path}"` }, file, targetOf(file, path)),
      rule
    )
  })

  it.each([
    'import { Runs } from "../Services/Runs.ts"',
    'import "../Services/Runs.ts"',
    'import { type Runs } from "../Services/Runs.ts"',
    'import x = require("../Services/Runs.ts")',
    'export { Runs } from "../Services/Runs.ts"',
    'export type * from "../Services/Runs.ts"',
    'type Runs = import("../Services/Runs.ts").Runs',
    'const load = () => import("../Services/Runs.ts")',
    "const load = () => import(`../Services/Runs.ts`)"
  ])("are seen as %s", (line) => {
    const broken = rulesBroken({ "Layers/Scheduler.ts": line }, "Layers/Scheduler.ts", "Services/Runs.ts")
    assertBroken(broken, "Layers/Scheduler may not know this file")
  })

  it("that make a circle of rooms are found, also where no file is on one", () => {
    const broken = rulesBroken(
      { "Layers/Output.ts": 'import { linesOf } from "./Operator/Lines.ts"' },
      "Layers/Output",
      "Layers/Operator"
    )
    assertBroken(broken, "no circles: Layers/Output -> Layers/Operator -> Layers/Output")
  })

  it("are not seen in texts and comments", () => {
    const line = '// import "pg"\nconst a = "import b from \'pg\'"\nconst c = `\nimport d from "pg"\n`'
    assert.deepStrictEqual(foundWith({ "Layers/Scheduler.ts": line }), [])
  })

  it("whose names are made at run time are found", () => {
    const line = "const load = (effect: string) => import(effect)"
    assertBroken(
      rulesBroken({ "Layers/Tools.ts": line }, "Layers/Tools.ts", "?"),
      "a package that is imported"
    )
  })

  it("of use cases are found in every file of the adapters", () => {
    const adapters = [...sources.keys()].filter((file) =>
      /^Layers\/(Auth|Inference|Outbound|Repo|Scheduler|SecretBox|Tools)\b/.test(file)
    )
    assert.isAbove(adapters.length, 80)
    const lines = adapters.map((file) => {
      const up = "../".repeat(file.split("/").length - 1)
      return [file, `import type { Runs } from "${up}Services/Runs.ts"`]
    })
    const found = foundWith(Object.fromEntries(lines)).filter(({ imports }) => imports === "Services/Runs.ts")
    assert.deepStrictEqual(new Set(found.map(({ file }) => file)), new Set(adapters))
  })

  it("of the inside of a use case are found outside of Services", () => {
    const room = {
      "Services/Engine.ts": 'import { batch } from "./Engine/Claims.ts"\nexport const atOnce = batch',
      "Services/Engine/Claims.ts": "export const batch = 8",
      "Services/Chat.ts": 'import { atOnce } from "./Engine.ts"'
    }
    assert.deepStrictEqual(foundWith(room), [])
    for (const [file, up] of [
      ["Layers/Tools/Mcp.ts", "../../"],
      ["Layers/Http/Runs.ts", "../../"],
      ["Layers/Operator/Socket.ts", "../../"],
      ["Layers/Server.ts", "../"],
      ["Layers/Application.ts", "../"],
      ["main.ts", "./"],
      ["cli.ts", "./"]
    ] as const) {
      const lines = { ...room, [file]: `import { batch } from "${up}Services/Engine/Claims.ts"` }
      assertBroken(
        rulesBroken(lines, file, "Services/Engine/Claims.ts"),
        "the inside of a use case is known in Services alone"
      )
    }
  })
})

describe("files", () => {
  it.each([
    ["Layers/Cache.ts", "every file belongs to a room"],
    ["Layers/Cache/Redis.ts", "every file belongs to a room"],
    ["worker.ts", "every file belongs to a room"],
    ["Services/index.ts", "no index"],
    ["Layers/Repo/InMemory/index.ts", "no index"]
  ])("%s: %s", (file, rule) => assertBroken(rulesBroken({ [file]: "" }, file, ""), rule))

  it("that export what others make are found", () => {
    const broken = rulesBroken(
      { "Schemas/Run.ts": 'export * from "./Usage.ts"' },
      "Schemas/Run.ts",
      "Schemas/Usage.ts"
    )
    assertBroken(broken, "a file exports what it makes itself")
  })

  it("of Services with a layer are use cases, but for ports whose layer needs nobody", () => {
    const withLayer = [...sources.values()].filter(
      ({ file }) => file.startsWith("Services/") && texts.get(file)?.includes("static readonly layer =")
    )
    assert.isAbove(withLayer.length, 15)
    const ports = withLayer.filter(isPort).map(({ file }) => file)
    assert.deepStrictEqual(ports, ["Services/Ids.ts", "Services/Lifecycle.ts"])
  })

  it("of Services that make a part without a class are use cases", () => {
    const making = [...sources.values()].filter(
      ({ file }) =>
        file.startsWith("Services/") && /^export const (layer|make|start)/m.test(texts.get(file) ?? "")
    )
    assert.isAbove(making.length, 4)
    assert.deepStrictEqual(making.filter(isPort), [])
  })

  it.each([
    ["Services/Made.ts", "export const make = 1", false],
    ["Services/Made.ts", "const layer = 1\nexport { layer }", false],
    ["Services/Made.ts", "export function start() {}", false],
    ["Services/Made.ts", 'import { Ids } from "./Ids.ts"', false],
    [
      "Services/Made.ts",
      'import type { Run } from "./RunRepo.ts"\nexport class A { static layer = 1 }',
      false
    ],
    ["Services/Made.ts", 'import type { Run } from "./RunRepo.ts"\nexport class A {}', true],
    ["Services/Made.ts", "export class A { static layer = 1 }", true],
    ["Services/Room/Made.ts", "export class A {}", false]
  ])("%s with %s: a port? %s", (file, text, expected) => {
    assert.strictEqual(isPort(parse(file, text)), expected)
  })
})

describe("layers of the application", () => {
  it.each([
    "const a = Effect.provide(Effect.void, Repo.layerPostgres)",
    "const a = Effect.void.pipe(Effect.provide([Repo.layerPostgres]))",
    "const b = () => { return Repo.layerPostgres }\nconst a = Effect.provide(b(), { local: true })",
    'import { provide } from "effect/Effect"\nconst a = provide(Repo.layerPostgres)',
    'import * as L from "effect/Layer"\nconst b = L.merge(L.empty, Repo.layerPostgres)\nconst a = L.launch(b)',
    'import { Layer } from "effect"\nconst a = Repo.layerPostgres.pipe(Layer.build)',
    'import { Layer } from "effect"\nconst a = Effect.provide(Layer.empty.pipe(Layer.merge(Repo.layerPostgres)))',
    'import * as M from "effect/ManagedRuntime"\nconst a = M.make(Repo.layerPostgres)'
  ])("are found where they are given to a program: %s", (text) => {
    const line = `import * as Repo from "../Repo.ts"\n${text}`
    const broken = rulesBroken(
      { "Layers/Operator/Reach.ts": line },
      "Layers/Operator/Reach.ts",
      "Layers/Repo.ts"
    )
    assert.match(broken.join("; "), /layers of the application are given to programs in main and cli alone/)
  })

  it("are found where a family gives its own to a program", () => {
    const line = "const a = Effect.provide(Effect.void, Math.random() > 0.5 ? Ids.layer : Ids.layer)"
    const broken = rulesBroken({ "Services/Ids.ts": line }, "Services/Ids.ts", "Services/Ids.ts")
    assert.match(broken.join("; "), /layers of the application are given to programs in main and cli alone/)
  })

  it.each([
    ["Services/Runs.ts", "Services/Access.ts", "const a = Runs.layer.pipe(Layer.provide(Access.layer))"],
    ["Layers/Http.ts", "Layers/Auth/Authorization.ts", "const a = Layer.provide([Planted.layer])"],
    ["Layers/Operator/Socket.ts", "Layers/Repo.ts", "const a = layer(1).pipe(Layer.provide(Planted.layer))"]
  ])("are found where they are given to another family in %s: %s", (file, imports, text) => {
    const up = "../".repeat(file.split("/").length - 1)
    const line = `import * as Planted from "${up}${imports}"\n${text}`
    const broken = rulesBroken({ [file]: line }, file, imports)
    assert.match(broken.join("; "), /a family combines its own layers alone/)
  })

  it("are told from those of packages", () => {
    const line =
      'import * as Digest from "effect/crypto/Digest"\nconst a = Effect.provide(Digest.layerWebCrypto)'
    assert.deepStrictEqual(foundWith({ "Services/Runs.ts": line }), [])
  })
})
