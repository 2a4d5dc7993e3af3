import * as McpClient from "effect/ai/McpClient"
import type { McpClientError } from "effect/ai/McpClientError"
import * as McpProtocol from "effect/ai/McpProtocol"
import type * as McpSchema from "effect/ai/McpSchema"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { IdempotencyKey } from "../../../Services/ToolSource.ts"
import { failureOf, isOtherVersion } from "./Errors.ts"
import { McpFailure } from "./Failure.ts"
import { scrubber } from "./Scrub.ts"
import type { McpServer } from "./Server.ts"
import { readPage } from "./ToolList.ts"

const listMillis = 60_000
const maxMessageBytes = 4 * 1024 * 1024

/** The client speaks the older ones as well, though its type names two. */
const protocols = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26
] as ReadonlyArray<McpProtocol.AnyProtocolAdapter> as ReadonlyArray<
  McpProtocol.ProtocolAdapter<McpClient.ProtocolVersion>
>

export interface Connection {
  readonly version: string
  /** Asks the server at most once a minute. */
  readonly tools: Effect.Effect<ReadonlyArray<McpSchema.Tool>, McpFailure>
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
  const scrub = scrubber(server.headers)
  const services = yield* Layer.build(
    FetchHttpClient.layer.pipe(
      Layer.provide(
        Layer.mergeAll(
          Layer.succeed(FetchHttpClient.Fetch, options.fetch),
          // No spans: they would carry the address, and a trace header would leave the house.
          Layer.succeed(HttpClient.TracerDisabledWhen, () => true)
        )
      )
    )
  )
  const attempt = (protocol: (typeof protocols)[number]) =>
    Effect.gen(function* () {
      const transport = yield* McpClient.http({ ...server, protocol, maxMessageBytes })
      const client = yield* McpClient.make({ name: "agentd", version: "1" }).pipe(
        Effect.provideService(McpClient.Transport, readable(transport, server.connectorId))
      )
      return { client, protocol }
    }).pipe(Effect.provideContext(services))

  const order = [...protocols].sort(
    (a, b) => Number(b.protocolVersion === preferred) - Number(a.protocolVersion === preferred)
  )
  const { client, protocol } = yield* firstOf(order.map(attempt)).pipe(
    Effect.mapError((error) => {
      const failure = failureOf(error, scrub)
      return failure.reason === "session"
        ? new McpFailure({ reason: "unreachable", error: "there is no MCP server at this address" })
        : failure
    })
  )

  const lock = yield* Semaphore.make(1)
  let listed: { readonly at: number; readonly tools: ReadonlyArray<McpSchema.Tool> } | undefined
  const list = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    if (listed !== undefined && at - listed.at < listMillis) return listed.tools
    const tools = yield* client.listTools().pipe(Effect.mapError((error) => failureOf(error, scrub)))
    listed = { at, tools }
    return tools
  })

  return {
    version: protocol.protocolVersion,
    tools: lock.withPermit(list),
    call: (tool, argument) =>
      client.callTool({ tool, arguments: argument }).pipe(Effect.mapError((error) => failureOf(error, scrub)))
  }
})

/** The first that begins; where none does, why the last one did not. */
const firstOf = <A, R>(
  attempts: ReadonlyArray<Effect.Effect<A, McpClientError, R>>
): Effect.Effect<A, McpClientError, R> => {
  const [attempt, ...others] = attempts
  if (attempt === undefined) return Effect.die("no version of the protocol to try")
  return others.length === 0 ? attempt : attempt.pipe(Effect.catchIf(isOtherVersion, () => firstOf(others)))
}

/** A call says in `_meta` what it is known by, so that a server can tell one that is made again. */
const known = (message: McpSchema.JsonRpcRequest, key: string | null): McpSchema.JsonRpcRequest => {
  if (key === null || message.method !== "tools/call") return message
  const { _meta, ...params } = message.params ?? {}
  const meta = typeof _meta === "object" && _meta !== null ? _meta : {}
  return { ...message, params: { ...params, _meta: { ...meta, "agentd/idempotencyKey": key } } }
}

/** The same transport, with lists of tools that one odd tool does not spoil, and calls that are known. */
const readable = (transport: McpClient.Transport, connectorId: string): McpClient.Transport => {
  let kept = 0
  return {
    ...transport,
    request: (message, tool) =>
      message.method !== "tools/list"
        ? Effect.flatMap(IdempotencyKey, (key) => transport.request(known(message, key), tool))
        : Effect.flatMap(transport.request(message, tool), (response) => {
            if ("error" in response) return Effect.succeed(response)
            if (message.params?.cursor === undefined) kept = 0
            const page = readPage(transport.protocol, response.result, kept)
            kept += page.kept
            const answer = { ...response, result: page.result } as typeof response
            return page.leftOut.length === 0
              ? Effect.succeed(answer)
              : Effect.as(
                  Effect.logWarning("tools of a connector were left out", {
                    connectorId,
                    tools: page.leftOut.slice(0, 20)
                  }),
                  answer
                )
          })
  }
}
