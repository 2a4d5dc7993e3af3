import { resolve } from "node:path"
import { assert, describe, it } from "vitest"
import { isInstalled, needed, run } from "../support/Generators.ts"

const root = resolve(import.meta.dirname, "../..")

describe.skipIf(!isInstalled)(`openapi.json under Spectral (${needed})`, () => {
  it("has nothing to complain about; what is not looked at has its reason in spectral.yaml", () => {
    const { output, stdout } = run(
      "@stoplight/spectral-cli/dist/index.js",
      ...["lint", resolve(root, "openapi.json"), "--ruleset", resolve(root, "test/Api/spectral.yaml")],
      ...["--format", "json", "--fail-severity", "hint"]
    )
    // The list comes first, then a sentence.
    assert.deepStrictEqual(JSON.parse(stdout.slice(0, stdout.lastIndexOf("]") + 1)), [], output)
  })
})
