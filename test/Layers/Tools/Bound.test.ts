import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isUnconnected } from "../../../src/Layers/Tools/Mcp/Errors.ts"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import { type ConnectorId, RunId, type WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { makeConnector } from "../../contract/ConnectorRepo.ts"
import { change, docsAt, startWriter } from "../../support/BoundCalls.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import { freePort, handled, listedTool, startHttp, startScripted } from "../../support/Mcp.ts"
import { layerScripted } from "../../support/Service.ts"

const layer = layerScripted({ allowPrivateAddresses: true })

const scopeOf = (workspaceId: WorkspaceId, connectorIds: ReadonlyArray<string> | null = null) => ({
  id: RunId.make("run_1"),
  workspaceId,
  projectId: null,
  connectorIds,
  policy: null
})

const statusOf = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) =>
    Effect.map(repo.find(id), (found) => Option.getOrThrow(found).status)
  )

/** The one tool of a connector, and how it is found again. */
const listed = Effect.fnUntraced(function* (connector: StoredConnector) {
  const source = yield* ToolSource
  const scope = scopeOf(connector.workspaceId)
  const tool = (yield* source.tools(scope)).tools.find(({ binding }) => binding?.connectorId === connector.id)
  const binding = tool?.binding
  if (tool === undefined || binding == null) return yield* Effect.die("no tool")
  return { binding, find: source.find(scope, binding), scope, source, tool }
})

describe("The tool that a call is bound to", () => {
  it.effect("is looked for anew each time, and makes its connector ACTIVE when it is back", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const connector = yield* docsAt(yield* makeWorkspace, server.url)
      const { binding, find } = yield* listed(connector)
      assert.deepStrictEqual((yield* find).binding, binding)
      yield* server.stop
      assert.deepInclude(yield* Effect.flip(find), {
        _tag: "ToolUnavailable",
        isGone: false,
        error:
          `the tool "write" of the connector "docs" (${connector.id}) is unavailable: ` +
          "the server could not be reached"
      })
      assert.strictEqual(yield* statusOf(connector.id), "ERROR")
      const again = yield* startScripted({ tools: [listedTool("write")], port: server.port })
      const tool = yield* find
      assert.strictEqual(yield* statusOf(connector.id), "ACTIVE")
      assert.strictEqual(yield* tool.call({}), "write done")
      assert.strictEqual(again.asked.filter((method) => method === "tools/call").length, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("has the definition of now, also where it was listed a moment ago", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const { binding, find } = yield* listed(yield* docsAt(yield* makeWorkspace, server.url))
      server.state.description = "deletes"
      const changed = yield* find
      assert.notStrictEqual(changed.binding?.definition, binding.definition)
      assert.strictEqual(changed.binding?.description, "deletes")
      server.state.tools = false
      const gone = yield* Effect.flip(find)
      assert.match(gone.error, /its server does not list it any more$/u)
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks once for all who look meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const { find } = yield* listed(yield* docsAt(yield* makeWorkspace, server.url))
      const before = server.lists()
      yield* Effect.replicateEffect(find, 8, { concurrency: 8 })
      assert.isAtMost(server.lists() - before, 2)
      assert.isAtLeast(server.lists() - before, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is none of another workspace, address or plan", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const workspaceId = yield* makeWorkspace
      const connector = yield* docsAt(workspaceId, server.url)
      const { binding, find, source, tool } = yield* listed(connector)
      const elsewhere = yield* Effect.flip(source.find(scopeOf(yield* makeWorkspace), binding))
      assert.deepInclude(elsewhere, { isGone: true })
      yield* change(connector, { metadata: { url: `${server.url}?other` } })
      for (const use of [Effect.asVoid(find), Effect.asVoid(tool.call({}))]) {
        assert.match((yield* Effect.flip(use)).error, /leads to another address now$/u)
      }
      yield* change(connector, { status: "ERROR" })
      yield* Effect.replicateEffect(makeConnector(workspaceId, { type: "other" }), 5)
      for (const use of [Effect.asVoid(find), Effect.asVoid(tool.call({}))]) {
        assert.match((yield* Effect.flip(use)).error, /the plan has no room/u)
      }
      assert.strictEqual(server.calls(), 0)
    }).pipe(Effect.provide(layer))
  )

  it.effect.each([
    [{ readOnlyHint: true }, true],
    [{ readOnlyHint: true, destructiveHint: false }, true],
    [{ readOnlyHint: true, destructiveHint: true }, false],
    [{ destructiveHint: false }, false],
    [{}, false]
  ] as const)("is read-only if it says so, and never if it is destructive: %j", ([annotations, readOnly]) =>
    Effect.gen(function* () {
      const server = yield* startWriter({ annotations })
      const { binding, tool } = yield* listed(yield* docsAt(yield* makeWorkspace, server.url))
      assert.deepStrictEqual([binding.readOnly, tool.definition.readOnly], [readOnly, readOnly])
    }).pipe(Effect.provide(layer))
  )
})

describe("A scope", () => {
  it.effect(
    "tells what it misses: of those that it names also what is off or gone, tried again each time",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const workspaceId = yield* makeWorkspace
        const down = yield* docsAt(workspaceId, `http://127.0.0.1:${port}/mcp`)
        const off = yield* docsAt(workspaceId, `http://127.0.0.1:${port}/mcp`, 1)
        yield* change(off, { status: "INACTIVE" })
        yield* makeConnector(workspaceId, { type: "oauth", providerId: "slack" })
        const source = yield* ToolSource
        const absent = (ids: ReadonlyArray<string> | null) =>
          Effect.map(source.tools(scopeOf(workspaceId, ids)), ({ absent }) =>
            absent.map(({ id, isGone, why }) => [id, isGone, why])
          )
        const unreachable = [down.id, false, "the server could not be reached"]
        assert.deepStrictEqual(yield* absent(null), [unreachable])
        assert.deepStrictEqual(yield* absent([down.id, off.id, "conn_gone"]), [
          [off.id, false, "the connector is switched off"],
          ["conn_gone", true, "the connector was deleted"],
          unreachable
        ])
        yield* startScripted({ tools: [listedTool("write")], port })
        assert.deepStrictEqual(yield* absent(null), [unreachable])
        assert.deepStrictEqual(yield* absent([down.id]), [])
        assert.strictEqual(yield* statusOf(down.id), "ACTIVE")
      }).pipe(Effect.provide(layer))
  )
})

describe("A call that failed", () => {
  it.effect("was not sent where nobody answers, or signs in", () =>
    Effect.gen(function* () {
      let isKnown = true
      const server = yield* startScripted({
        tools: [listedTool("write")],
        answer: ({ method, response }) => {
          if (isKnown || method !== "tools/call") return undefined
          response.writeHead(401).end()
          return handled
        }
      })
      const { tool } = yield* listed(yield* docsAt(yield* makeWorkspace, server.url))
      isKnown = false
      assert.strictEqual((yield* Effect.flip(tool.call({})))._tag, "ToolUnavailable")
      yield* server.stop
      assert.strictEqual((yield* Effect.flip(tool.call({})))._tag, "ToolUnavailable")
    }).pipe(Effect.provide(layer))
  )

  it.effect("was not sent where no session begins", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const connector = yield* docsAt(yield* makeWorkspace, server.url)
      const { tool } = yield* listed(connector)
      yield* server.stop
      yield* Effect.flip(tool.call({}))
      // As if nobody had seen that it failed: the call itself is what connects again.
      yield* change(connector, {})
      const broken = yield* startScripted({
        port: server.port,
        answer: ({ response }) => {
          response.writeHead(500).end()
          return handled
        }
      })
      assert.strictEqual((yield* Effect.flip(tool.call({})))._tag, "ToolUnavailable")
      assert.notInclude(broken.asked, "tools/call")
    }).pipe(Effect.provide(layer))
  )

  it.effect.each([
    ["cut off", false, "ToolError"],
    ["HTTP 503", false, "ToolError"],
    ["cut off", true, "ToolUnavailable"],
    ["HTTP 503", true, "ToolUnavailable"]
  ] as const)("may have been made, and is again if it changes nothing: %s, %s", ([how, readOnlyHint, tag]) =>
    Effect.gen(function* () {
      let calls = 0
      const server = yield* startScripted({
        tools: [listedTool("write", { annotations: { readOnlyHint } })],
        answer: ({ method, request, response }) => {
          if (method !== "tools/call") return undefined
          calls++
          if (how === "cut off") request.socket.destroy()
          else response.writeHead(503).end()
          return handled
        }
      })
      const { tool } = yield* listed(yield* docsAt(yield* makeWorkspace, server.url))
      assert.strictEqual((yield* Effect.flip(tool.call({})))._tag, tag)
      assert.strictEqual(calls, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is told apart by its cause", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const cut = yield* startHttp((request) => void request.socket.destroy())
      const why = (url: string) =>
        Effect.promise(() =>
          fetch(url).then(
            () => undefined,
            (error: unknown) => error
          )
        )
      assert.isTrue(isUnconnected(yield* why(`http://127.0.0.1:${port}`)))
      assert.isTrue(isUnconnected(yield* why(`http://localhost:${port}`)))
      assert.isTrue(isUnconnected(yield* why("http://name.invalid")))
      assert.isFalse(isUnconnected(yield* why(cut.url)))
      assert.isFalse(isUnconnected(undefined))
    })
  )
})
