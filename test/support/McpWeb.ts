import * as Effect from "effect/Effect"
import { modernVersion } from "../../src/Layers/Http/Faces/Mcp/Exchange.ts"
import { makeWeb } from "./Web.ts"

// biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
export type Message = any

/** The messages of an answer, whichever form it has. */
export const messagesOf = (text: string): ReadonlyArray<Message> =>
  text.startsWith("{")
    ? [JSON.parse(text)]
    : text
        .split("\n\n")
        .map((frame) =>
          frame
            .split("\n")
            .find((line) => line.startsWith("data: {"))
            ?.slice(6)
        )
        .filter((data) => data !== undefined)
        .map((data) => JSON.parse(data))

interface Asking {
  readonly version?: string
  readonly session?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly id?: number | string
  /** Of a client of 2026-07-28: what it can. */
  readonly capabilities?: object
}

/** `/mcp` over the services of the test. */
export const makeMcpWeb = Effect.gen(function* () {
  const { send } = yield* makeWeb

  /** A request of version 2026-07-28, or of another with a session. */
  const ask = (token: string, method: string, params: Message = {}, options: Asking = {}) => {
    const { capabilities = {}, headers, id = 1, session, version = modernVersion } = options
    const isModern = version === modernVersion
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": capabilities
    }
    const name = params.name ?? params.taskId
    return Effect.map(
      send("POST", "/mcp", {
        token,
        json: {
          jsonrpc: "2.0",
          id,
          method,
          params: isModern ? { ...params, _meta: { ...meta, ...params._meta } } : params
        },
        headers: {
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": version,
          ...(isModern && { "mcp-method": method, ...(name !== undefined && { "mcp-name": name }) }),
          ...(session !== undefined && { "mcp-session-id": session }),
          ...headers
        }
      }),
      (answer) => {
        const messages = messagesOf(answer.text)
        const last = messages.at(-1)
        return { ...answer, messages, result: last?.result, error: last?.error }
      }
    )
  }

  const call = (
    token: string,
    name: string,
    args: object = {},
    options: Asking & { readonly params?: object } = {}
  ) => ask(token, "tools/call", { name, arguments: args, ...options.params }, options)

  /** The session of a client of an older version. */
  const begin = Effect.fnUntraced(function* (token: string, version: string, capabilities: object = {}) {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } }
    const json = { jsonrpc: "2.0", id: 0, method: "initialize", params }
    const answer = yield* send("POST", "/mcp", { token, json })
    return { answer, session: answer.headers.get("mcp-session-id") ?? undefined }
  })

  return { ask, begin, call, send }
})
