import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Api } from "../../src/Api/Api.ts"

interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly schema: object
}

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
const parametersOf = (path: string): ReadonlyArray<Parameter> => document.paths[path].get.parameters

/** CONTRACT.md section 3, by hand. */
const defaultLimits: Readonly<Record<string, number>> = {
  "/api/approvals": 50,
  "/api/chat/conversations": 50,
  "/api/cron-jobs/{id}/fires": 50,
  "/api/runs": 20
}

/** Of these a page is a part of all: there is no default. */
const whole: Readonly<Record<string, string>> = {
  "/api/agents": "after",
  "/api/cron-jobs": "after",
  "/api/connectors": "after",
  "/api/chat/memory": "after",
  "/api/chat/conversations/{id}": "before"
}
/** These have a default and pages, and a test of their own each. */
const logs = ["/api/audit", "/api/webhooks/{id}/deliveries", "/v1/models"]
const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

const offset = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }

describe("paging", () => {
  it("is that of these lists", () => {
    const paged = Object.keys(document.paths).filter((path) =>
      ((document.paths[path].get?.parameters ?? []) as ReadonlyArray<Parameter>).some(
        ({ name }) => name === "limit"
      )
    )
    assert.sameMembers(paged, [...Object.keys(defaultLimits), ...Object.keys(whole), ...logs])
  })

  const decodes = (path: string) => {
    const endpoint = endpoints.find(
      ({ method, path: own }) => method === "GET" && own.replace(/:(\w+)/g, "{$1}") === path
    )
    const decode = Schema.decodeUnknownEffect(endpoint?.query as unknown as Schema.Codec<unknown>)
    return (query: object) => decode({ workspaceId: "ws_1", ...query })
  }

  for (const [path, name] of Object.entries(whole)) {
    it(`${path} says what its pages are`, () => {
      const found = parametersOf(path).filter((parameter) => ["limit", name].includes(parameter.name))
      assert.deepStrictEqual(
        found.map(({ name, required, schema }) => ({ name, required, schema })),
        [
          { name: "limit", required: false, schema: { type: "integer", minimum: 1, maximum: 1000 } },
          { name, required: false, schema: { type: "string", minLength: 1, maxLength: 100 } }
        ]
      )
    })

    it.effect(`${path} takes just that`, () =>
      Effect.gen(function* () {
        const sent = decodes(path)
        assert.notProperty(yield* sent({}), "limit")
        assert.deepInclude(yield* sent({ limit: "1", [name]: "a" }), { limit: 1, [name]: "a" })
        assert.deepInclude(yield* sent({ limit: "1000" }), { limit: 1000 })
        for (const beyond of [{ limit: "0" }, { limit: "1001" }, { [name]: "" }])
          yield* Effect.flip(sent(beyond))
      })
    )
  }

  for (const [path, defaultLimit] of Object.entries(defaultLimits)) {
    const sent = decodes(path)
    // Behind an id there is no offset.
    const none = path === "/api/runs" ? {} : { offset: 0 }

    it(`${path} says what is allowed and what is meant by nothing`, () => {
      const limit = { type: "integer", minimum: 1, maximum: 100, default: defaultLimit }
      const found = parametersOf(path).filter(({ name }) => ["limit", "offset"].includes(name))
      assert.deepStrictEqual(
        found.map(({ name, required, schema }) => ({ name, required, schema })),
        [
          { name: "limit", required: false, schema: limit },
          { name: "offset", required: false, schema: offset }
        ]
      )
    })

    it.effect(`${path} takes just that, and gives its handler numbers`, () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* sent({}), { limit: defaultLimit, ...none })
        assert.deepInclude(yield* sent({ limit: "1" }), { limit: 1, ...none })
        assert.deepInclude(yield* sent({ limit: "100", offset: "9007199254740991" }), {
          limit: 100,
          offset: Number.MAX_SAFE_INTEGER
        })
        for (const beyond of [{ limit: "0" }, { limit: "101" }, { offset: "-1" }, { limit: "1.5" }]) {
          yield* Effect.flip(sent(beyond))
        }
      })
    )
  }

  it.effect("/api/audit takes up to 1,000, and from where it goes on instead of an offset", () =>
    Effect.gen(function* () {
      const endpoint = endpoints.find(({ path }) => path === "/api/audit")
      const decode = Schema.decodeUnknownEffect(endpoint?.query as unknown as Schema.Codec<unknown>)
      assert.deepInclude(yield* decode({ workspaceId: "ws_1" }), { limit: 50 })
      const sent = { workspaceId: "ws_1", limit: "1000", after: "audit_1" }
      assert.deepInclude(yield* decode(sent), { limit: 1000, after: "audit_1" })
      const limit = parametersOf("/api/audit").find(({ name }) => name === "limit")
      assert.deepInclude(limit?.schema, { minimum: 1, maximum: 1000, default: 50 })
    })
  )
})
