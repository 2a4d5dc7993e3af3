import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { neededNode } from "../src/Layers/Operator/Doctor.ts"
import { latest } from "../src/Layers/Repo/Postgres/Migrations.ts"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

it("README shows the test that is run", () => {
  const [imports = "", ...shown] = read("./Layers/Application.test.ts").split("\n\n")
  assert.match(imports, /^(import .*\n?)+$/)
  assert.include(read("../README.md"), `\`\`\`ts\n${shown.join("\n\n")}\`\`\``)
})

it("package.json, the check of a start and doctor need the same Node.js", () => {
  const { engines } = JSON.parse(read("../package.json"))
  assert.strictEqual(engines.node, `>=${neededNode.join(".")}`)
  assert.include(read("../scripts/require-node.mjs"), `const needed = [${neededNode.join(", ")}]\n`)
})

it("docs/deploy.md shows an export of the latest migration", () => {
  assert.include(read("../docs/deploy.md"), `{"agentd":"export","version":1,"schema":${latest}}\n`)
})

describe("docs/security.md", () => {
  const doc = read("../docs/security.md")
  const required = read("./fixtures/asvs-5.0.txt").trim().split("\n")

  /** The numbers of a cell such as `1.2.3, 1.3.1–1.3.4`; of a range those that are required. */
  const numbersOf = (cell: string): ReadonlyArray<string> =>
    cell.split(", ").flatMap((part) => {
      const [from = "", to] = part.split("–")
      return to === undefined ? [from] : required.slice(required.indexOf(from), required.indexOf(to) + 1)
    })

  it("says once of every requirement of ASVS 5.0, levels 1 and 2, how it stands, and what of what does not hold", () => {
    const rows = doc.split("\n").flatMap((line) => {
      const [, numbers, state, how] = /^\| (\d+\.\d+\.\d[^|]*) \| ([^|]*) \| (.+) \|$/u.exec(line) ?? []
      return numbers === undefined ? [] : [{ numbers: numbersOf(numbers), state, how }]
    })
    assert.deepStrictEqual(
      rows.flatMap(({ numbers }) => numbers).toSorted((a, b) => required.indexOf(a) - required.indexOf(b)),
      required
    )
    for (const { state, how } of rows) {
      assert.include(["holds", "partly", "**no**", "n.a.", "deployer", "unknown"], state)
      assert.isAbove(how?.length ?? 0, 5)
    }
  })

  it("names files that there are", () => {
    const files = doc.matchAll(/`((?:bench|docs|nix|scripts|src|test)\/[\w./-]+)`/gu)
    const links = doc.matchAll(/\]\(([\w./-]+\.md)(?:#[\w-]+)?\)/gu)
    const named = [
      ...[...files].map(([, path]) => `../${path}`),
      ...[...links].map(([, path]) => `../docs/${path}`)
    ]
    assert.isAbove(named.length, 50)
    for (const path of named) assert.isTrue(existsSync(new URL(path, import.meta.url)), path)
  })
})
