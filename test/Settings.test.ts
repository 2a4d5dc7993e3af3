import { readdirSync, readFileSync, statSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { made } from "../scripts/settings.ts"
import { names, secretNames } from "../src/Schemas/SettingsTable.ts"

const at = (path: string) => new URL(`../${path}`, import.meta.url)
const read = (path: string) => readFileSync(at(path), "utf8")

const filesOf = (path: string): ReadonlyArray<string> =>
  statSync(at(path)).isDirectory()
    ? readdirSync(at(path)).flatMap((name) => filesOf(`${path}/${name}`))
    : [path]

const mentionedIn = (text: string) => text.match(/\b(AGENTD_\w*[A-Z0-9]|DATABASE_URL)\b/gu) ?? []

/** What Kubernetes makes, an example of a mistake, and what only tests read. */
const others = [
  // Of the commands that are clients.
  "AGENTD_URL",
  "AGENTD_TOKEN",
  "AGENTD_WEBHOOK_SECRET",
  "AGENTD_SERVICE_HOST",
  "AGENTD_DATABASE_PORT",
  "AGENTD_PORT_3000_TCP_ADDR",
  "AGENTD_DATA_DRI",
  "AGENTD_TEST_WITHOUT_POSTGRES",
  "AGENTD_TEST_SEED",
  "AGENTD_TEST_SECONDS",
  "AGENTD_PROPERTY_SEED"
]

const table = "src/Schemas/SettingsTable.ts"
const code = ["src", "scripts"].flatMap(filesOf).filter((path) => path !== table)
const texts = ["README.md", "CONTEXT.md", "AGENTS.md", ".ci", "docs", "nix", "flake.nix"].flatMap(filesOf)

describe("the table of settings", () => {
  for (const [path, text] of made()) {
    it(`is what ${path} shows (npm run settings)`, () => {
      assert.strictEqual(read(path), text)
    })
  }

  it("has every one that is spoken of", () => {
    const known: ReadonlySet<string> = new Set([
      ...names,
      ...secretNames.map((name) => `${name}_FILE`),
      ...others
    ])
    for (const path of [...code, ...texts]) {
      for (const name of mentionedIn(read(path))) assert.isTrue(known.has(name), `${path}: ${name}`)
    }
  })

  it("has none that nobody reads", () => {
    const all = code.map(read).join("\n")
    for (const name of names) assert.include(all, name.startsWith("AGENTD_") ? name : `"${name}"`)
  })

  it("has the secrets of the NixOS module", () => {
    const [, list = ""] = /secrets = \[(.*?)\]/su.exec(read("nix/module.nix")) ?? []
    assert.deepStrictEqual(
      Array.from(list.matchAll(/"(\w+)"/gu), ([, name]) => name).sort(),
      [...secretNames].sort()
    )
  })
})
