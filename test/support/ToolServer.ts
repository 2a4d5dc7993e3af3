import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

// biome-ignore lint/suspicious/noExplicitAny: a wire format that is not typed here
export type Body = any

export const bodyOf = async (request: IncomingMessage): Promise<Body> => {
  let text = ""
  for await (const chunk of request) text += chunk
  return text === "" ? undefined : JSON.parse(text)
}

/** A server on a port of its own; what goes wrong in a request cuts its connection. */
export const listen = async (
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
) => {
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  const open = (port: number) => new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  await open(0)
  const { port } = server.address() as AddressInfo
  return {
    base: `http://127.0.0.1:${port}`,
    /** Takes no new connections; what is under way goes on. */
    refuse: () => void server.close(),
    accept: () => open(port),
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

export interface ToolRequest {
  readonly params: Body
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const versions = ["2025-11-25", "2025-06-18", "2025-03-26"]

/**
 * An MCP server without sessions, with these tools; `call` says what a call returns. With `oneEach`, each request
 * has a connection of its own, so that a server that takes no new ones leaves nobody in doubt about a call.
 */
export const serveTools = async (given: {
  readonly tools: ReadonlyArray<object>
  readonly call: (asked: ToolRequest) => Promise<string>
  readonly oneEach?: boolean
}) => {
  const { base, ...server } = await listen(async (request, response) => {
    if (given.oneEach === true) response.setHeader("connection", "close")
    const message = await bodyOf(request)
    if (message === undefined) return void response.writeHead(405).end()
    if (message.id === undefined) return void response.writeHead(202).end()
    const answer = (status: number, content: object) =>
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...content }))
    const { method, params } = message
    if (method === "initialize") {
      answer(200, {
        result: {
          protocolVersion: versions.includes(params.protocolVersion) ? params.protocolVersion : versions[0],
          capabilities: { tools: {} },
          serverInfo: { name: "counter", version: "1" }
        }
      })
    } else if (method === "tools/list") {
      answer(200, { result: { tools: given.tools } })
    } else if (method === "tools/call") {
      const text = await given.call({ params, request, response })
      answer(200, { result: { content: [{ type: "text", text }] } })
    } else {
      answer(400, { error: { code: -32601, message: "Method not found" } })
    }
  })
  return { ...server, url: `${base}/mcp` }
}
