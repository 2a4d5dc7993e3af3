import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import * as Repo from "../../../src/Layers/Repo.ts"
import * as Ring from "../../../src/Layers/SecretBox/Ring.ts"
import * as Arguments from "../../../src/Layers/Tools/Arguments.ts"
import * as Tools from "../../../src/Layers/Tools.ts"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import { toHealth } from "../../../src/Schemas/ConnectorHealth.ts"
import type { ConnectorId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { AddressRefused } from "../../../src/Schemas/Outbound.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import * as ConnectorReports from "../../../src/Services/ConnectorReports.ts"
import { Ids } from "../../../src/Services/Ids.ts"
import { Outbound } from "../../../src/Services/Outbound.ts"
import { SecretBox } from "../../../src/Services/SecretBox.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { makeConnector } from "../../contract/ConnectorRepo.ts"
import { makeWorkspace, newId } from "../../support/Fixtures.ts"
import { type Asked, freePort, handled, listedTool, startScripted } from "../../support/Mcp.ts"
import { eventually } from "../../support/Until.ts"

const guarded: typeof fetch = (input, init) =>
  String(input).includes("refused.test")
    ? Promise.reject(
        new TypeError("fetch failed", { cause: new AddressRefused({ error: "refused.test is private" }) })
      )
    : fetch(input, init)

const layer = Tools.layer.pipe(
  Layer.provideMerge(ConnectorReports.layer),
  Layer.provideMerge(Repo.layerMemory),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.succeed(Settings, Settings.defaults),
      Layer.succeed(Arguments.LimitsMillis, [60_000]),
      Layer.succeed(Outbound, { guarded, trusted: fetch }),
      Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] }),
      Ids.layer
    )
  )
)

const connect = Effect.fnUntraced(function* (
  url: string,
  { credential, ...given }: Partial<StoredConnector> & { readonly credential?: string } = {}
) {
  const id = yield* newId<ConnectorId>("connector")
  const secret = Redacted.make(JSON.stringify(credential ?? ""))
  const sealed = credential === undefined ? null : yield* (yield* SecretBox).seal(id, secret)
  return yield* makeConnector(given.workspaceId ?? (yield* makeWorkspace), {
    id,
    providerName: "docs",
    metadata: { url },
    hasCredential: sealed !== null,
    sealedCredential: sealed,
    ...given
  })
})

const health = ({ id }: StoredConnector) =>
  Effect.gen(function* () {
    const repo = yield* ConnectorRepo
    const found = Option.getOrThrow(yield* repo.find(id))
    return toHealth(found, Option.getOrUndefined(yield* repo.health(id)))
  })

const check = (connector: StoredConnector) =>
  Effect.andThen(
    ToolSource.use((tools) => tools.check(connector)),
    health(connector)
  )

/** What a run in this workspace and no project is shown of tools of connectors. */
const shownIn = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const scope = { workspaceId, projectId: null, connectorIds: null }
  const { tools } = yield* (yield* ToolSource).tools(scope)
  return tools.flatMap(({ binding, definition }) => (binding === null ? [] : [definition]))
})

/** A server that answers with this status, and this text if it is one. */
const answering = (status: number, text?: string, type = "text/plain") =>
  startScripted({
    answer: ({ response }: Asked) => {
      response.writeHead(status, { "content-type": type }).end(text)
      return handled
    }
  })

describe("A look at a connector", () => {
  it.effect("shows its tools by the names that a model knows, and what they may do as autonomy has it", () =>
    Effect.gen(function* () {
      const inputSchema = { type: "object", required: ["q"], properties: { q: { type: "string" } } }
      const all = [
        listedTool("find.it", { inputSchema, annotations: { readOnlyHint: true } }),
        listedTool("drop", { annotations: { readOnlyHint: true, destructiveHint: true } }),
        listedTool("plain", { description: undefined, title: "Plain" })
      ]
      const server = yield* startScripted({ tools: all })
      const rival = yield* startScripted({ tools: [listedTool("plain")] })
      const other = yield* startScripted({ tools: [listedTool("plain")] })
      const first = yield* connect(rival.url)
      const { workspaceId } = first
      yield* connect(other.url, { workspaceId, providerName: "other" })
      const connector = yield* connect(server.url, { workspaceId })
      const tools = yield* (yield* ToolSource).ofConnector(connector)
      assert.deepStrictEqual(other.asked, [], "it can't be called alike, and was asked")
      assert.deepStrictEqual(
        tools.map(({ destructive, originalName, readOnly }) => ({ originalName, readOnly, destructive })),
        [
          { originalName: "find.it", readOnly: true, destructive: false },
          { originalName: "drop", readOnly: false, destructive: true },
          { originalName: "plain", readOnly: false, destructive: false }
        ]
      )
      assert.deepStrictEqual(
        [tools[0]?.name, tools[0]?.description, tools[0]?.inputSchema, tools[2]?.description],
        ["docs__find_it", "does find.it", inputSchema, "Plain"]
      )
      const shown = (yield* shownIn(workspaceId)).map(({ name }) => name)
      for (const { name } of tools) assert.include(shown, name)
      assert.match(tools[2]?.name ?? "", /^docs__plain_[0-9a-f]{8}$/u)
      const info = { serverName: "scripted", serverVersion: "1", protocolVersion: "2025-11-25" }
      const seen = { status: "ACTIVE", checkedAt: new Date(0), error: null, ...info } as const
      assert.deepStrictEqual(yield* health(connector), seen)
      assert.deepStrictEqual(yield* health(first), seen)
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks at most once a minute, a check each time", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({ tools: [listedTool("a")] })
      const connector = yield* connect(url)
      const source = yield* ToolSource
      const lists = () => asked.filter((method) => method === "tools/list").length
      yield* source.ofConnector(connector)
      yield* source.ofConnector(connector)
      assert.strictEqual(lists(), 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual((yield* check(connector)).checkedAt, new Date(5_000))
      yield* check(connector)
      assert.strictEqual(lists(), 3)
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks once for all who check meanwhile", () =>
    Effect.gen(function* () {
      let letGo: (() => void) | undefined
      const { asked, url } = yield* startScripted({
        answer: ({ id, method, response }) => {
          if (method !== "tools/list" || letGo !== undefined) return undefined
          letGo = () => {
            response.writeHead(200, { "content-type": "application/json" })
            response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [] } }))
          }
          return handled
        }
      })
      const connector = yield* connect(url)
      const asking = yield* Effect.replicateEffect(Effect.forkChild(check(connector)), 5)
      yield* eventually(
        Effect.sync(() => letGo !== undefined),
        "it was asked"
      )
      letGo?.()
      for (const fiber of asking) assert.strictEqual((yield* Fiber.join(fiber)).status, "ACTIVE")
      assert.lengthOf(
        asked.filter((method) => method === "tools/list"),
        1
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("goes on when who asked first leaves, and ends", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({ answer: () => handled })
      const connector = yield* connect(url)
      const asking = yield* Effect.replicateEffect(Effect.forkChild(check(connector)), 5)
      yield* eventually(
        Effect.sync(() => asked.length > 0),
        "it was asked"
      )
      for (const fiber of asking.slice(0, 2)) yield* Fiber.interrupt(fiber)
      const late = yield* Effect.forkChild(check(connector))
      yield* TestClock.adjust("10 seconds")
      for (const fiber of [...asking.slice(2), late]) {
        const { checkedAt, error, status } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          { status, checkedAt, error },
          {
            status: "ERROR",
            checkedAt: new Date(10_000),
            error: { code: "timeout", message: "the server did not answer within 10 s" }
          }
        )
      }
      assert.lengthOf(asked, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect.each([
    ["nobody listens", Effect.map(freePort, (port) => `http://127.0.0.1:${port}/mcp`), "unreachable"],
    ["the guard refuses it", Effect.succeed("http://refused.test/mcp"), "address_not_allowed"],
    ["it is away", Effect.map(answering(503), ({ url }) => url), "unreachable"],
    ["there is nothing", Effect.map(answering(404), ({ url }) => url), "not_mcp"],
    [
      "there is a page",
      Effect.map(answering(200, "<html>hello</html>", "text/html"), ({ url }) => url),
      "not_mcp"
    ],
    [
      "there is other JSON",
      Effect.map(answering(200, "{}", "application/json"), ({ url }) => url),
      "not_mcp"
    ],
    ["it takes no POST", Effect.map(answering(405, "no"), ({ url }) => url), "not_mcp"],
    ["it lets nobody in", Effect.map(answering(401), ({ url }) => url), "unauthorized"],
    ["it may not be done", Effect.map(answering(403), ({ url }) => url), "unauthorized"],
    ["it breaks", Effect.map(answering(500, "canary-credential"), ({ url }) => url), "bad_answer"],
    ["it is no address", Effect.succeed("ftp://example.org/"), "misconfigured"]
  ] as const)("says why it can't be used: %s", ([, address, code]) =>
    Effect.gen(function* () {
      const connector = yield* connect(yield* address, { credential: "canary-credential" })
      const found = yield* check(connector)
      assert.deepStrictEqual([found.status, found.error?.code], ["ERROR", code], found.error?.message)
      assert.notInclude(found.error?.message ?? "", "canary")
      assert.isAbove(found.error?.message.length ?? 0, 10)
      assert.deepStrictEqual(yield* (yield* ToolSource).ofConnector(connector), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("says so of one whose secret can't be opened", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({})
      const connector = yield* connect(url, { hasCredential: true, sealedCredential: "another's" })
      const { error, status } = yield* check(connector)
      assert.deepStrictEqual([status, error?.code], ["ERROR", "secret_unreadable"])
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("shows no secret that a server says back of itself, nor too much", () =>
    Effect.gen(function* () {
      const info = { name: `I know canary-credential ${"x".repeat(10_000)}`, version: "canary-credential" }
      const { url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ method }) =>
          method === "initialize"
            ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: info }
            : undefined
      })
      const found = yield* check(yield* connect(url, { credential: "canary-credential" }))
      assert.deepStrictEqual([found.status, found.serverVersion], ["ACTIVE", "[hidden]"])
      assert.match(found.serverName ?? "", /^I know \[hidden\] x+/u)
      assert.isAtMost(found.serverName?.length ?? 0, 200)
    }).pipe(Effect.provide(layer))
  )

  it.effect("switches nothing on, and shows what one brings that is switched off", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({ tools: [listedTool("a")] })
      const connector = yield* connect(url, { status: "INACTIVE" })
      const found = yield* check(connector)
      assert.deepStrictEqual([found.status, found.error, found.serverName], ["INACTIVE", null, "scripted"])
      const [tool] = yield* (yield* ToolSource).ofConnector(connector)
      assert.strictEqual(tool?.name, "docs__a")
      assert.deepStrictEqual(yield* shownIn(connector.workspaceId), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks nobody of one that brings no tools, and leaves it as it is", () =>
    Effect.gen(function* () {
      const connector = yield* connect("http://refused.test/", { type: "oauth", providerId: "unheard-of" })
      const found = yield* check(connector)
      assert.deepStrictEqual([found.status, found.checkedAt, found.error], ["ACTIVE", null, null])
      assert.deepStrictEqual(yield* (yield* ToolSource).ofConnector(connector), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("brings one back that works again, for the next message at once", () =>
    Effect.gen(function* () {
      let isUp = false
      const { url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ response }) => {
          if (isUp) return undefined
          response.writeHead(503).end()
          return handled
        }
      })
      const connector = yield* connect(url)
      const { workspaceId } = connector
      assert.deepStrictEqual(yield* shownIn(workspaceId), [])
      assert.deepInclude(yield* health(connector), {
        status: "ERROR",
        error: { code: "unreachable", message: "the server is not available (HTTP 503)" }
      })
      isUp = true
      assert.deepStrictEqual(yield* shownIn(workspaceId), [])
      const stored = Option.getOrThrow(yield* (yield* ConnectorRepo).find(connector.id))
      assert.deepInclude(yield* check(stored), { status: "ACTIVE", error: null })
      assert.lengthOf(yield* shownIn(workspaceId), 1)
    }).pipe(Effect.provide(layer))
  )
})
