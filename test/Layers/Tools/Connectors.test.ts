import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { type ProjectId, RunId, type WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { builtinNames } from "../../../src/Schemas/ToolName.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ToolError, ToolSource } from "../../../src/Services/ToolSource.ts"
import { connect as connectTo, layer as layerTools, statusOf } from "../../support/Connected.ts"
import { makeProject, makeWorkspace } from "../../support/Fixtures.ts"
import { makeLog } from "../../support/Log.ts"
import { freePort, handled, listedTool, startScripted } from "../../support/Mcp.ts"
import { eventually } from "../../support/Until.ts"

const { layer: layerLog, entries: logged } = makeLog("Info")

const layer = Layer.provideMerge(layerTools, layerLog)

/** A connector of the provider `files` to this address. */
const connect = (workspaceId: WorkspaceId, url: string, given: Parameters<typeof connectTo>[1] = {}) =>
  connectTo(url, { workspaceId, providerName: null, providerId: "files", ...given })

const connectorTools = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  scope: { readonly projectId?: ProjectId; readonly connectorIds?: ReadonlyArray<string> } = {}
) {
  const all = yield* (yield* ToolSource).tools({
    id: RunId.make("run_1"),
    workspaceId,
    projectId: null,
    connectorIds: null,
    policy: null,
    ...scope
  })
  return all.tools.slice(3)
})

const names = (tools: ReadonlyArray<{ readonly definition: { readonly name: string } }>) =>
  tools.map(({ definition }) => definition.name)

const callFirst = Effect.fnUntraced(function* (workspaceId: WorkspaceId, argument: object = {}) {
  const [tool] = yield* connectorTools(workspaceId)
  if (tool === undefined) return yield* Effect.die("no tool")
  return yield* tool.call(argument as Record<string, string>)
})

const deadUrl = Effect.map(freePort, (port) => `http://127.0.0.1:${port}/mcp`)

describe("tools of connectors", () => {
  it.effect("are those of their servers, after the built-in ones, and can be called", () =>
    Effect.gen(function* () {
      const inputSchema = { type: "object", required: ["q"], properties: { q: { type: "string" } } }
      const { asked, url } = yield* startScripted({
        tools: [
          listedTool("find.it", { inputSchema, annotations: { readOnlyHint: true } }),
          listedTool("long", { description: "🙂".repeat(2_000), inputSchema: { type: "object" } })
        ]
      })
      const workspaceId = yield* makeWorkspace
      yield* connect(workspaceId, url)
      const scope = {
        id: RunId.make("run_1"),
        workspaceId,
        projectId: null,
        connectorIds: null,
        policy: null
      }
      assert.deepStrictEqual(names((yield* (yield* ToolSource).tools(scope)).tools), [
        ...builtinNames,
        "files__find_it",
        "files__long"
      ])
      const [find, long] = yield* connectorTools(workspaceId)
      assert.deepStrictEqual(find?.definition, {
        name: "files__find_it",
        description: "does find.it",
        parameters: inputSchema,
        readOnly: true
      })
      assert.deepStrictEqual(long?.definition, {
        name: "files__long",
        description: "🙂".repeat(1_024),
        parameters: { type: "object", properties: {} },
        readOnly: false
      })
      assert.strictEqual(yield* callFirst(workspaceId, { q: "x" }), "find.it done")
      const calls = () => asked.filter((method) => method === "tools/call").length
      const error = yield* Effect.flip(callFirst(workspaceId, { q: 1 }))
      assert.instanceOf(error, ToolError)
      assert.match(error.error, /^q: /u)
      assert.strictEqual(calls(), 1, "the server was asked for what it does not take")
    }).pipe(Effect.provide(layer))
  )

  it.effect("are those of the workspace and project, or of the connectors named, while switched on", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({ tools: [listedTool("a")] })
      const workspaceId = yield* makeWorkspace
      const projectId = (yield* makeProject(workspaceId)).id
      yield* connect(workspaceId, url, { providerId: "all" })
      const own = yield* connect(workspaceId, url, { providerId: "own", projectId })
      const off = yield* connect(workspaceId, url, { providerId: "off", status: "INACTIVE" })
      yield* connect(workspaceId, url, { providerId: "slack", type: "oauth" })
      yield* connect(yield* makeWorkspace, url, { providerId: "elsewhere" })
      const seen = (scope: Parameters<typeof connectorTools>[1]) =>
        Effect.map(connectorTools(workspaceId, scope), names)
      assert.deepStrictEqual(yield* seen({}), ["all__a"])
      assert.deepStrictEqual(yield* seen({ projectId }), ["all__a", "own__a"])
      assert.deepStrictEqual(yield* seen({ connectorIds: [own.id, off.id] }), ["own__a"])
      assert.deepStrictEqual(yield* seen({ connectorIds: [] }), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("of two connectors of one provider keep apart, also while one is away", () =>
    Effect.gen(function* () {
      const [first, second] = yield* Effect.all([
        startScripted({ tools: [listedTool("a"), listedTool("a")] }),
        startScripted({ tools: [listedTool("a"), listedTool("b")] })
      ])
      const workspaceId = yield* makeWorkspace
      const one = yield* connect(workspaceId, first.url)
      yield* connect(workspaceId, second.url)
      const [a, other, b] = names(yield* connectorTools(workspaceId))
      assert.deepStrictEqual([a, b], ["files__a", "files__b"])
      assert.match(other ?? "", /^files__a_[0-9a-f]{8}$/u)
      yield* first.stop
      yield* Effect.flip(callFirst(workspaceId))
      assert.strictEqual(yield* statusOf(one.id), "ERROR")
      assert.deepStrictEqual(names(yield* connectorTools(workspaceId)), [other, b])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are left out where a server fails, which is told, and not asked for again for 30 s", () =>
    Effect.gen(function* () {
      let isUp = false
      const server = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ response }) => {
          if (isUp) return undefined
          response.writeHead(503).end()
          return handled
        }
      })
      const workspaceId = yield* makeWorkspace
      const { id } = yield* connect(workspaceId, server.url)
      assert.deepStrictEqual(yield* connectorTools(workspaceId), [])
      assert.strictEqual(yield* statusOf(id), "ERROR")
      const tries = server.asked.length
      isUp = true
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(yield* connectorTools(workspaceId), [])
      assert.strictEqual(server.asked.length, tries)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(names(yield* connectorTools(workspaceId)), ["files__a"])
      assert.strictEqual(yield* statusOf(id), "ACTIVE")
    }).pipe(Effect.provide(layer))
  )

  it.effect("are there at once when a failed connector is changed", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({ tools: [listedTool("a")] })
      const workspaceId = yield* makeWorkspace
      const connector = yield* connect(workspaceId, yield* deadUrl)
      assert.deepStrictEqual(yield* connectorTools(workspaceId), [])
      yield* (yield* ConnectorRepo).update({ ...connector, status: "ERROR", metadata: { url } })
      assert.deepStrictEqual(names(yield* connectorTools(workspaceId)), ["files__a"])
      assert.strictEqual(yield* statusOf(connector.id), "ACTIVE")
    }).pipe(Effect.provide(layer))
  )

  it.effect("of one that works again stay away while the plan has no room for it", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({ tools: [listedTool("a")] })
      const workspaceId = yield* makeWorkspace
      const { id } = yield* connect(workspaceId, url, { status: "ERROR" })
      yield* Effect.replicateEffect(connect(workspaceId, url, { type: "other" }), 5)
      assert.deepStrictEqual(yield* connectorTools(workspaceId), [])
      assert.strictEqual(yield* statusOf(id), "ERROR")
    }).pipe(Effect.provide(layer))
  )

  it.effect("sign in with the credential; one that can't be opened is an error, and neither is told", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const { url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ request, response }) => {
          seen.push(request.headers.authorization)
          if (request.headers.authorization !== "Bearer canary-right") {
            response.writeHead(401).end()
            return handled
          }
          return undefined
        }
      })
      const workspaceId = yield* makeWorkspace
      const right = yield* connect(workspaceId, url, { credential: "canary-right" })
      const wrong = yield* connect(workspaceId, url, { credential: "canary-wrong" })
      const spoiled = yield* connect(workspaceId, url, {
        hasCredential: true,
        sealedCredential: right.sealedCredential
      })
      const before = logged.length
      assert.deepStrictEqual(names(yield* connectorTools(workspaceId)), ["files__a"])
      assert.deepStrictEqual(
        [yield* statusOf(right.id), yield* statusOf(wrong.id), yield* statusOf(spoiled.id)],
        ["ACTIVE", "ERROR", "ERROR"]
      )
      assert.deepStrictEqual([...new Set(seen)].sort(), ["Bearer canary-right", "Bearer canary-wrong"])
      const told = JSON.stringify(logged.slice(before))
      assert.include(told, wrong.id)
      assert.include(told, "metadata.credential: can't be opened")
      assert.notInclude(told, "canary")
    }).pipe(Effect.provide(layer))
  )

  it.effect("tell the model why a call failed, and nothing of the machine", () =>
    Effect.gen(function* () {
      const server = yield* startScripted({ tools: [listedTool("a")] })
      const workspaceId = yield* makeWorkspace
      const { id } = yield* connect(workspaceId, server.url, { providerName: "Files" })
      const [tool] = yield* connectorTools(workspaceId)
      yield* server.stop
      const error = yield* Effect.flip(tool?.call({}) ?? Effect.die("no tool"))
      assert.deepInclude(error, {
        _tag: "ToolUnavailable",
        error: `the tool "a" of the connector "Files" (${id}) is unavailable: the server could not be reached`
      })
      assert.strictEqual(yield* statusOf(id), "ERROR")
    }).pipe(Effect.provide(layer))
  )

  it.effect("say in its words what the guard of outgoing requests refuses", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const { id } = yield* connect(workspaceId, "http://refused.test/mcp")
      const before = logged.length
      assert.deepStrictEqual(yield* connectorTools(workspaceId), [])
      assert.strictEqual(yield* statusOf(id), "ERROR")
      assert.include(JSON.stringify(logged.slice(before)), "metadata.url: the address is private")
    }).pipe(Effect.provide(layer))
  )

  it.effect("do not wait longer than 10 s for a server that does not answer", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({ answer: () => handled })
      const workspaceId = yield* makeWorkspace
      const { id } = yield* connect(workspaceId, url)
      const fiber = yield* Effect.forkChild(connectorTools(workspaceId))
      yield* eventually(
        Effect.sync(() => asked.length > 0),
        "it was asked"
      )
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), [])
      assert.strictEqual(yield* statusOf(id), "ERROR")
    }).pipe(Effect.provide(layer))
  )

  it.effect("end their session when nobody has used them for 5 minutes", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ response }) => void response.setHeader("mcp-session-id", "s1")
      })
      const workspaceId = yield* makeWorkspace
      yield* connect(workspaceId, url)
      yield* callFirst(workspaceId)
      yield* TestClock.adjust("4 minutes")
      yield* callFirst(workspaceId)
      yield* TestClock.adjust("4 minutes")
      assert.notInclude(asked, "DELETE")
      yield* TestClock.adjust("2 minutes")
      yield* eventually(
        Effect.sync(() => asked.includes("DELETE")),
        "the session was ended"
      )
      assert.strictEqual(yield* callFirst(workspaceId), "a done")
    }).pipe(Effect.provide(layer))
  )

  it.effect("make an error of an address that is none", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const { id } = yield* connect(workspaceId, "ftp://example.org/")
      assert.deepStrictEqual(yield* connectorTools(workspaceId), [])
      assert.strictEqual(yield* statusOf(id), "ERROR")
    }).pipe(Effect.provide(layer))
  )
})
