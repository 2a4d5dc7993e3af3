import * as McpClient from "effect/ai/McpClient"
import type { McpClientError } from "effect/ai/McpClientError"
import * as McpProtocol from "effect/ai/McpProtocol"
import type * as McpSchema from "effect/ai/McpSchema"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { ServerInfo } from "../../../Schemas/ConnectorHealth.ts"
import { storableText } from "../../../Schemas/Json.ts"
import { type Scrub, scrubJson } from "../../../Schemas/Scrub.ts"
import { cut } from "../../../Schemas/Text.ts"
import { monotonicMillis } from "../../../Services/CurrentTime.ts"
import { whileOurs } from "../../../Services/Lease.ts"
import { outgoing } from "../../../Services/Telemetry.ts"
import { IdempotencyKey } from "../../../Services/ToolSource.ts"
import { failureOf, isOtherVersion } from "./Errors.ts"
import { McpFailure } from "./Failure.ts"
import { scrubOf } from "./Scrub.ts"
import type { McpServer } from "./Server.ts"
import { readPage, start } from "./ToolList.ts"

const listMillis = 60_000
const maxMessageBytes = 4 * 1024 * 1024
/** Of a tool, kept in memory; more than a model is shown. */
const longestText = 4_096
const longestInfo = 200

/** The client speaks the older ones as well, though its type names two. */
const protocols = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26
] as ReadonlyArray<McpProtocol.AnyProtocolAdapter> as ReadonlyArray<
  McpProtocol.ProtocolAdapter<McpClient.ProtocolVersion>
>

/** What a server lists, and whether it was asked for that, or the list is one from before. */
export interface ToolList {
  readonly tools: ReadonlyArray<McpSchema.Tool>
  readonly isNew: boolean
}

export interface Connection {
  readonly version: string
  /** What the server said of itself when the connection was made. */
  readonly info: ServerInfo
  /** Asks the server at most once a minute; for a fresh list after this, once for all who ask meanwhile. */
  readonly tools: (isFresh: boolean) => Effect.Effect<ToolList, McpFailure>
  readonly call: (
    tool: McpSchema.Tool,
    argument: Schema.JsonObject
  ) => Effect.Effect<McpSchema.CallToolResult, McpFailure>
}

/**
 * Connects to a server in the newest version of the protocol that both sides speak, `preferred` tried
 * first. The scope owns the connection and ends its session on the server.
 */
export const connect = Effect.fnUntraced(function* (options: {
  readonly server: McpServer
  readonly fetch: typeof globalThis.fetch
  readonly preferred: string | undefined
}): Effect.fn.Return<Connection, McpFailure, Scope.Scope> {
  const { preferred, server } = options
  const scrub = scrubOf(server)
  let hasSession = false
  const fetch: typeof globalThis.fetch = (input, init) => {
    hasSession = new Headers(init?.headers).has("mcp-session-id")
    return options.fetch(input, init)
  }
  const failure = (error: McpClientError) => failureOf(error, { hasSession, scrub })
  const services = yield* Layer.build(
    FetchHttpClient.layer.pipe(
      Layer.provide(
        Layer.mergeAll(
          Layer.succeed(FetchHttpClient.Fetch, fetch),
          // No spans of its own: they would carry the address. The one of the call is told below.
          Layer.succeed(HttpClient.TracerDisabledWhen, () => true)
        )
      )
    )
  )
  const attempt = (protocol: (typeof protocols)[number]) =>
    Effect.gen(function* () {
      const transport = yield* Effect.provideServiceEffect(
        McpClient.http({ ...server, protocol, maxMessageBytes }),
        HttpClient.HttpClient,
        Effect.map(HttpClient.HttpClient, traced)
      )
      const reader = readable(transport, server.connectorId, scrub)
      const client = yield* McpClient.make({ name: "agentd", version: "1" }).pipe(
        Effect.provideService(McpClient.Transport, reader.transport)
      )
      return { client, protocol, schemas: reader.schemas }
    }).pipe(Effect.provideContext(services))

  const order = [...protocols].sort(
    (a, b) => Number(b.protocolVersion === preferred) - Number(a.protocolVersion === preferred)
  )
  const { client, protocol, schemas } = yield* firstOf(order.map(attempt)).pipe(
    Effect.mapError((error) => {
      const failed = failure(error)
      return failed.reason === "session"
        ? new McpFailure({
            reason: "unreachable",
            error: "the server does not keep the session it began",
            isUnsent: true
          })
        : failed
    })
  )

  const lock = yield* Semaphore.make(1)
  let asked = 0
  let listed:
    | { readonly at: number; readonly ask: number; readonly tools: ReadonlyArray<McpSchema.Tool> }
    | undefined
  const list = Effect.fnUntraced(function* (
    isUsable: (kept: NonNullable<typeof listed>, at: number) => boolean
  ) {
    const at = yield* monotonicMillis
    if (listed !== undefined && isUsable(listed, at)) return listed
    const ask = ++asked
    const found = yield* Effect.mapError(client.listTools(), failure)
    const tools = yield* scrubbedAll(found, schemas, scrub)
    listed = { at, ask, tools }
    return listed
  })
  const tools = (isFresh: boolean) =>
    Effect.suspend(() => {
      const before = asked
      const kept = list(isFresh ? ({ ask }) => ask > before : (kept, at) => at - kept.at < listMillis)
      return Effect.map(lock.withPermit(kept), ({ ask, tools }) => ({ tools, isNew: ask > before }))
    })

  return {
    version: protocol.protocolVersion,
    info: infoOf(client.serverInfo, protocol.protocolVersion, scrub),
    tools,
    call: (tool, argument) => Effect.mapError(client.callTool({ tool, arguments: argument }), failure)
  }
})

/** Name and version without secrets, in a length that can be shown. */
const infoOf = (
  given: McpClient.McpClient["serverInfo"],
  protocolVersion: string,
  scrub: Scrub
): ServerInfo => {
  const said = (text: string | undefined) =>
    text === undefined ? null : cut(storableText(scrub(text.slice(0, longestText))), longestInfo)
  return {
    serverName: said(given?.title ?? given?.name),
    serverVersion: said(given?.version),
    protocolVersion
  }
}

/** The first that begins; where none does, why the last one did not. */
const firstOf = <A, R>(
  attempts: ReadonlyArray<Effect.Effect<A, McpClientError, R>>
): Effect.Effect<A, McpClientError, R> => {
  const [attempt, ...others] = attempts
  if (attempt === undefined) return Effect.die("no version of the protocol to try")
  return others.length === 0 ? attempt : attempt.pipe(Effect.catchIf(isOtherVersion, () => firstOf(others)))
}

/** The same, and each request says in which trace it is made. */
const traced = HttpClient.mapRequestEffect((request) =>
  Effect.map(outgoing, (traceparent) =>
    traceparent === null ? request : HttpClientRequest.setHeader(request, "traceparent", traceparent)
  )
)

/**
 * A call says in `_meta` what it is known by, so that a server can tell one that is made again, and in which trace it is
 * made, under the name that MCP has for that.
 */
const known = (
  message: McpSchema.JsonRpcRequest,
  key: string | null,
  traceparent: string | null
): McpSchema.JsonRpcRequest => {
  if (message.method !== "tools/call" || (key === null && traceparent === null)) return message
  const { _meta, ...params } = message.params ?? {}
  const meta = {
    ...(typeof _meta === "object" && _meta !== null && _meta),
    ...(key !== null && { "agentd/idempotencyKey": key }),
    ...(traceparent !== null && { traceparent })
  }
  return { ...message, params: { ...params, _meta: meta } }
}

/** Tools without secrets; others get their turn after each. */
const scrubbedAll = Effect.fnUntraced(function* (
  found: ReadonlyArray<McpSchema.Tool>,
  schemas: ReadonlyArray<Schema.JsonObject>,
  scrub: Scrub
) {
  const tools: Array<McpSchema.Tool> = []
  for (const [index, tool] of found.entries()) {
    const usable = scrubbed(tool, schemas[index] ?? {}, scrub)
    if (usable !== undefined) tools.push(usable)
    yield* Effect.yieldNow
  }
  return tools
})

/** A tool without secrets; none if it is called by one, for under another name it can't be called. */
const scrubbed = (
  { annotations, description, name, title }: McpSchema.Tool,
  schema: Schema.JsonObject,
  scrub: Scrub
): McpSchema.Tool | undefined =>
  scrub(name) !== name
    ? undefined
    : {
        name,
        inputSchema: scrubJson(schema, scrub) as McpSchema.ToolJson,
        ...(title !== undefined && { title: scrub(title).slice(0, longestText) }),
        ...(description !== undefined && { description: scrub(description).slice(0, longestText) }),
        ...(annotations !== undefined && { annotations })
      }

/**
 * The same transport, with calls that are known, and lists of tools that one odd tool does not spoil and whose
 * input schemas are to be put in afterwards. Others get their turn between parsing, reading and decoding a page.
 */
const readable = (transport: McpClient.Transport, connectorId: string, scrub: Scrub) => {
  let progress = start
  const schemas: Array<Schema.JsonObject> = []
  const request: McpClient.Transport["request"] = (message, tool) => {
    const answer = Effect.flatMap(Effect.all([IdempotencyKey, outgoing]), ([key, traceparent]) =>
      transport.request(known(message, key, traceparent), tool)
    )
    if (message.method === "tools/call") return Effect.andThen(whileOurs, answer)
    if (message.method !== "tools/list") return answer
    return Effect.gen(function* () {
      const response = yield* answer
      if ("error" in response) return response
      yield* Effect.yieldNow
      if (message.params?.cursor === undefined) {
        progress = start
        schemas.length = 0
      }
      const page = yield* readPage(transport.protocol, response.result, progress)
      progress = page.progress
      schemas.push(...page.schemas)
      if (page.leftOut.length > 0) {
        const tools = scrub(page.leftOut.slice(-20).join(", "))
        yield* Effect.annotateLogs(Effect.logWarning("tools of a connector were left out"), {
          connectorId,
          tools
        })
      }
      yield* Effect.yieldNow
      return { ...response, result: page.result } as typeof response
    })
  }
  return { transport: { ...transport, request } satisfies McpClient.Transport, schemas }
}
