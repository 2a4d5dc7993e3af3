import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

/** Over these, a connection that sends or takes nothing is cut. */
const timeouts = { headersTimeout: 15_000, requestTimeout: 60_000, keepAliveTimeout: 65_000 }
const stalledMillis = 60_000

/**
 * A server that answers `{"error"}` also where no router is asked: before the routes are attached, and
 * to what is no HTTP. A reader that takes nothing for a minute is cut off.
 */
export const makeServer = (): Server => {
  const server = createServer({ ...timeouts, keepAlive: true, keepAliveInitialDelay: 30_000 })
  server.timeout = stalledMillis
  server.on("request", (_, response) => {
    // A server that is closing waits for connections that are kept alive, unless they are idle already.
    response.once("close", () => {
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
  })
  server.on("request", notReady)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", notReady)
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy()
    const [status, code, sentence] = clientErrors[error.code ?? ""] ?? clientErrors.HPE
    const body = JSON.stringify({ error: sentence })
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `X-Error-Code: ${code}\r\nConnection: close\r\n\r\n${body}`
    )
  })
  return server
}

const notReady = (_: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(503, {
    "content-type": "application/json",
    "x-error-code": "unavailable",
    "retry-after": "1"
  })
  response.end(JSON.stringify({ error: "the service is starting; try again" }))
}

const clientErrors: Readonly<Record<string, readonly [status: string, code: string, error: string]>> & {
  readonly HPE: readonly [status: string, code: string, error: string]
} = {
  HPE: ["400 Bad Request", "invalid_input", "the request is not valid HTTP"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "invalid_input", "the headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "invalid_input", "the request did not arrive in time"]
}
