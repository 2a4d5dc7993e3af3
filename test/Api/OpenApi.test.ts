import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../src/Api/Api.ts"

describe("openapi.json", () => {
  it("is what the contract says now (npm run openapi writes it)", () => {
    const committed = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"))
    assert.deepStrictEqual(committed, JSON.parse(JSON.stringify(OpenApi.fromApi(Api))))
  })
})
