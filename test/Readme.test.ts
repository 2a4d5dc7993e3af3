import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
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
