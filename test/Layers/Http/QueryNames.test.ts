import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../../src/Api/Api.ts"
import { layerOffline, makeTenant } from "../../support/Service.ts"
import { dataOf, isError, makeWeb, sentenceOf } from "../../support/Web.ts"

interface Operation {
  readonly method: string
  readonly path: string
  /** What the document says that the query may have. */
  readonly names: ReadonlyArray<string>
}

interface Parameter {
  readonly in: string
  readonly name: string
}

const operations: ReadonlyArray<Operation> = Object.entries(OpenApi.fromApi(Api).paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods as Record<string, { readonly parameters: ReadonlyArray<Parameter> }>).map(
      ([method, { parameters }]) => ({
        method: method.toUpperCase(),
        path,
        names: parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name)
      })
    )
)
const endpoints = operations.filter(({ path }) => path.startsWith("/api/"))
const others = operations.filter(({ path }) => !path.startsWith("/api/"))

const known = (names: ReadonlyArray<string>) =>
  names.length === 0 ? "there are none" : `there are ${names.join(", ")}`

/** A path with an id that names nothing, and a body where one is due: neither is looked at. */
const concrete = (path: string) => path.replace(/\{\w+\}/g, "x")

/** Something that is right for each name; every other one is a number. */
const makeValues = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const { token, workspaceId } = yield* makeTenant()
  const make = (path: string, json: object) =>
    Effect.map(send("POST", path, { token, json: { workspaceId, ...json } }), dataOf<{ id: string }>)
  const values: Readonly<Record<string, string>> = {
    workspaceId,
    projectId: (yield* make("/api/projects", { name: "p" })).id,
    agentId: (yield* make("/api/agents", { name: "a" })).id,
    cronJobId: (yield* make("/api/cron-jobs", { name: "c", schedule: "@daily", prompt: "p" })).id,
    from: "1970-01-01",
    to: "1970-01-02",
    groupBy: "day",
    status: "PENDING",
    category: "c",
    key: "k"
  }
  const valueOf = (name: string, path: string) =>
    encodeURIComponent((path.endsWith("/deliveries") && name === "status" ? "failed" : values[name]) ?? "1")
  return { send, token, valueOf }
})

describe("a query parameter", () => {
  it("is asked of endpoints that have some and of such that have none", () => {
    assert.isAbove(endpoints.length, 40)
    assert.isAbove(endpoints.filter(({ names }) => names.length > 0).length, 8)
  })

  for (const { method, names, path } of endpoints) {
    it.effect(`of ${method} ${path} that it does not have is a 400 that names those there are`, () =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const { token } = yield* makeTenant()
        const target = `${concrete(path)}?bogus=1`
        const sentence = `bogus: is no query parameter here; ${known(names)}`
        const body = method === "GET" || method === "DELETE" ? {} : { json: {} }
        const refused = yield* send(method, target, { token, ...body })
        assert.strictEqual(refused.headers.get("x-error-code"), "invalid_input")
        assert.deepStrictEqual([refused.status, sentenceOf(refused)], [400, sentence])
        // It takes no credential.
        if (path === "/api/session/link") return
        const { headers, status } = yield* send(method, target, body)
        assert.deepStrictEqual([status, headers.get("x-error-code")], [401, "unauthenticated"])
      }).pipe(Effect.provide(layerOffline()))
    )
  }

  for (const { method, names, path } of endpoints.filter(({ names }) => names.length > 0)) {
    it.effect(`of ${method} ${path} that the document has is taken, once`, () =>
      Effect.gen(function* () {
        const { send, token, valueOf } = yield* makeValues
        const required = names.includes("workspaceId") ? `workspaceId=${valueOf("workspaceId", path)}` : ""
        for (const name of names) {
          const one = `${name}=${valueOf(name, path)}`
          const query = name === "workspaceId" ? required : `${required}&${one}`
          const { status, text } = yield* send(method, `${concrete(path)}?${query}`, { token })
          if (path.includes("{")) assert.strictEqual(status, 404, `${name}: ${text}`)
          else if (name !== "after" && name !== "before") assert.strictEqual(status, 200, `${name}: ${text}`)
          const twice = yield* send(method, `${concrete(path)}?${query}&${one}`, { token })
          isError(twice, 400, "invalid_input", `${name}: must be given once`)
        }
      }).pipe(Effect.provide(layerOffline()))
    )
  }

  const list = `/api/projects?workspaceId=`
  const tail = "is no query parameter here; there are workspaceId"
  for (const [what, query, shown] of [
    ["named like what every object has", "__proto__=1", "__proto__"],
    ["named like a method of every object", "toString=1", "toString"],
    ["without a name", "=1", '""'],
    ["without a value", "bogus", "bogus"],
    ["in other letters", "WorkspaceId=1", "WorkspaceId"],
    ["with encoded letters", "%62%6Fgus=1", "bogus"],
    ["with a zero behind its name", "workspaceId%00=1", "workspaceId\0"],
    ["like a list", "workspaceId[]=1", "workspaceId[]"],
    ["of ten thousand letters", `${"x".repeat(10_000)}=1`, `${"x".repeat(50)}…`],
    ["of whole characters, cut", `${"%F0%9F%98%80".repeat(51)}=1`, `${"😀".repeat(50)}…`],
    ["among a thousand others", Array.from({ length: 1000 }, (_, n) => `b${n}=1`).join("&"), "b0"]
  ] as const) {
    it.effect(`${what} is unknown`, () =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const { token, workspaceId } = yield* makeTenant()
        const answer = yield* send("GET", `${list}${workspaceId}&${query}`, { token })
        isError(answer, 400, "invalid_input", `${shown}: ${tail}`)
      }).pipe(Effect.provide(layerOffline()))
    )
  }

  it.effect("is known however its letters are encoded, and nothing at all is no parameter", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      for (const query of [`%77orkspaceId=${workspaceId}`, `&&workspaceId=${workspaceId}&`]) {
        assert.strictEqual((yield* send("GET", `/api/projects?${query}`, { token })).status, 200, query)
      }
      assert.strictEqual((yield* send("GET", "/api/workspaces?", { token })).status, 200)
      // One that is unknown is told before one that is missing.
      const missing = yield* send("GET", "/api/projects?workspaceID=x", { token })
      isError(missing, 400, "invalid_input", `workspaceID: ${tail}`)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is nobody's business outside /api: what asks for health adds its own", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const paths = ["/", "/docs", "/metrics", "/openapi.json", ...others.map(({ path }) => path)]
      assert.includeMembers(paths, ["/health/live", "/health/ready"])
      for (const path of paths) {
        const { status } = yield* send("GET", path)
        assert.strictEqual((yield* send("GET", `${path}?bogus=1&bogus=2`)).status, status, path)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
