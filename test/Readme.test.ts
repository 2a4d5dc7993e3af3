import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

it("README shows the test that is run", () => {
  const [imports = "", ...shown] = read("./Layers/Application.test.ts").split("\n\n")
  assert.match(imports, /^(import .*\n?)+$/)
  assert.include(read("../README.md"), `\`\`\`ts\n${shown.join("\n\n")}\`\`\``)
})
