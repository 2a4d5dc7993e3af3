import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { ConnectorCredential, type StoredConnector } from "../../Schemas/Connector.ts"
import { type ConnectorTarget, headersRow, inScope, targetOf } from "../../Schemas/ConnectorServer.ts"
import { cut } from "../../Schemas/Text.ts"
import { prefixOf, toolNames } from "../../Schemas/ToolName.ts"
import { ConnectorHealth } from "../../Services/ConnectorHealth.ts"
import { ConnectorRepo } from "../../Services/ConnectorRepo.ts"
import { SecretBox } from "../../Services/SecretBox.ts"
import { type Tool, ToolError, type ToolScope } from "../../Services/ToolSource.ts"
import { isUnhealthy, type McpFailure } from "./Mcp/Failure.ts"
import type { McpServer } from "./Mcp/Server.ts"
import * as Mcp from "./Mcp.ts"

const atOnce = 8
/** How long one message waits for all connectors together. */
const patienceMillis = 15_000
const pauseMillis = 30_000
const longestDescription = 1_024
const maximumRemembered = 10_000

/** A connector with the tools that its server has now, or had when it was last reached. */
interface Listed {
  readonly connector: StoredConnector
  readonly server: McpServer | undefined
  readonly tools: ReadonlyArray<Mcp.McpTool>
  readonly names: ReadonlyArray<string>
}

/**
 * The tools of connectors (CONTRACT.md section 7). A connector that fails is left out, becomes ERROR and is
 * not tried again for 30 s, unless it is changed; one that works again becomes ACTIVE, and brings its tools
 * only then, since the plan counts it.
 */
export const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const health = yield* ConnectorHealth
  const mcp = yield* Mcp.make
  const repo = yield* ConnectorRepo
  // Threads and what they need are loaded with the first call.
  const argumentCheck = yield* Effect.promise(() => import("./Arguments.ts")).pipe(
    Effect.flatMap(({ make }) => make),
    Scope.provide(yield* Effect.scope),
    Effect.cached
  )

  /** When a connector as it was (its fingerprint) may be tried again. */
  const pauses = new Map<string, { readonly fingerprint: string; readonly until: number }>()
  /** The tools of a connector when it was last reached: their names stay its own while it is away. */
  const known = new Map<string, ReadonlyArray<string>>()

  const failed = Effect.fnUntraced(function* (connector: StoredConnector, error: string) {
    yield* Effect.logWarning("a connector can't be used", { connectorId: connector.id, error })
    if (connector.status !== "ERROR") yield* health.report(connector.id, false)
  })

  const openedTarget = Effect.fnUntraced(function* (connector: StoredConnector) {
    const { id, metadata, sealedCredential } = connector
    const { headers } = metadata
    const open = <A>(field: string, row: string, sealed: string, decode: Decode<A>) =>
      box.open(row, sealed).pipe(
        Effect.flatMap((opened) => decode(Redacted.value(opened))),
        // Not the error itself: it may show a part of the secret.
        Effect.mapError(() => `metadata.${field}: can't be opened`)
      )
    const opened =
      typeof headers === "string"
        ? { ...metadata, headers: yield* open("headers", headersRow(id), headers, decodeHeaders) }
        : metadata
    return targetOf(
      { ...connector, metadata: opened },
      sealedCredential === null
        ? undefined
        : yield* open("credential", id, sealedCredential, decodeCredential)
    )
  })

  const target = (connector: StoredConnector) =>
    Effect.match(openedTarget(connector), {
      onSuccess: (found) => found,
      onFailure: (error): ConnectorTarget => ({ kind: "unusable", error })
    })

  const away = (connector: StoredConnector): Listed => ({
    connector,
    server: undefined,
    tools: [],
    names: known.get(connector.id) ?? []
  })

  const reach = Effect.fnUntraced(function* (connector: StoredConnector) {
    const found = yield* target(connector)
    if (found.kind === "none") return { ...away(connector), names: [] }
    if (found.kind === "unusable") {
      // Told once, not with every message.
      if (connector.status !== "ERROR") yield* failed(connector, found.error)
      return away(connector)
    }
    const server = { connectorId: connector.id, ...found.server }
    const fingerprint = JSON.stringify(server)
    const pause = pauses.get(connector.id)
    const at = yield* Clock.currentTimeMillis
    if (pause?.fingerprint === fingerprint && at < pause.until) return away(connector)
    const tools = yield* mcp.tools(server).pipe(
      Effect.catchTag("McpFailure", ({ error }) =>
        Effect.gen(function* () {
          const until = (yield* Clock.currentTimeMillis) + pauseMillis
          bounded(pauses).set(connector.id, { fingerprint, until })
          yield* failed(connector, error)
          return undefined
        })
      )
    )
    if (tools === undefined) return away(connector)
    pauses.delete(connector.id)
    const distinct = [...new Map(tools.map((tool) => [tool.name, tool])).values()]
    const names = distinct.map(({ name }) => name)
    bounded(known).set(connector.id, names)
    const isActive = connector.status === "ACTIVE" || (yield* health.report(connector.id, true))
    return isActive ? { connector, server, tools: distinct, names } : { ...away(connector), names }
  })

  /** What is not there by then is left out this time; it goes on connecting for the next. */
  const reachBefore = (deadline: number) => (connector: StoredConnector) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) =>
      Effect.timeoutOrElse(reach(connector), {
        duration: Math.max(0, deadline - at),
        orElse: () => Effect.succeed(away(connector))
      })
    )

  const call = (connector: StoredConnector, server: McpServer, tool: Mcp.McpTool) =>
    Effect.fn("ConnectorTools.call")(function* (argument: Schema.Json) {
      const checked = yield* (yield* argumentCheck)(
        connector.id,
        tool.inputSchema as Schema.JsonObject,
        argument
      )
      return yield* mcp
        .call(server, tool, checked)
        .pipe(
          Effect.catchTag("McpFailure", (failure) =>
            Effect.andThen(
              isUnhealthy(failure) ? failedCall(connector, failure) : Effect.void,
              Effect.fail(new ToolError({ error: failure.error }))
            )
          )
        )
    })

  const failedCall = Effect.fnUntraced(function* (connector: StoredConnector, { error }: McpFailure) {
    yield* Effect.logWarning("a connector can't be used", { connectorId: connector.id, error })
    yield* health.report(connector.id, false)
  })

  return {
    tools: Effect.fn("ConnectorTools.tools")(function* (scope: ToolScope) {
      const all = yield* repo.list({ workspaceId: scope.workspaceId })
      const connectors = all.filter((connector) => inScope(connector, scope))
      const deadline = (yield* Clock.currentTimeMillis) + patienceMillis
      const listed = yield* Effect.forEach(connectors, reachBefore(deadline), { concurrency: atOnce })
      const names = toolNames(
        listed.flatMap(({ connector, names }) =>
          names.map((tool) => ({ connectorId: connector.id, prefix: prefixOf(connector), tool }))
        )
      )
      const tools: Array<Tool> = []
      let first = 0
      for (const { connector, names: own, server, tools: described } of listed) {
        for (const [index, tool] of described.entries()) {
          const name = names[first + index]
          if (server === undefined || name === undefined) continue
          tools.push({ definition: definitionOf(tool, name), call: call(connector, server, tool) })
        }
        first += own.length
      }
      return tools
    })
  }
})

type Decode<A> = (text: string) => Effect.Effect<A, Schema.SchemaError>

const decodeHeaders = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

const decodeCredential = Schema.decodeUnknownEffect(Schema.fromJsonString(ConnectorCredential))

const definitionOf = (tool: Mcp.McpTool, name: string): Tool["definition"] => ({
  name,
  description: cut((tool.description ?? tool.title ?? "").toWellFormed(), longestDescription),
  // Some models refuse the schema of an object that names no properties.
  parameters: {
    ...(tool.inputSchema as Schema.JsonObject),
    properties: tool.inputSchema.properties ?? {}
  } as Schema.JsonObject,
  readOnly: tool.annotations?.readOnlyHint === true
})

/** Forgets the oldest of a map that has grown too large. */
const bounded = <K, V>(map: Map<K, V>): Map<K, V> => {
  for (const oldest of map.keys()) {
    if (map.size < maximumRemembered) break
    map.delete(oldest)
  }
  return map
}
