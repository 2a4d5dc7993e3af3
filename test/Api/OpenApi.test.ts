import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../src/Api/Api.ts"

const root = resolve(import.meta.dirname, "../..")

describe("openapi.json", () => {
  it("is what the contract says now (npm run openapi writes it)", () => {
    const committed = JSON.parse(readFileSync(resolve(root, "openapi.json"), "utf8"))
    assert.deepStrictEqual(committed, JSON.parse(JSON.stringify(OpenApi.fromApi(Api))))
  })

  it("is clean under an OpenAPI linter", () => {
    const cli = resolve(root, "node_modules/@redocly/cli/bin/cli.js")
    const options = ["--config=test/Api/redocly.yaml", "--format=json", "--max-problems=1000"]
    const { stderr, stdout } = spawnSync(process.execPath, [cli, "lint", "openapi.json", ...options], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    })
    const report = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
      readonly problems: ReadonlyArray<object>
    }
    assert.deepStrictEqual(report.problems, [], stderr)
  })
})
