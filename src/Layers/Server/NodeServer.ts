import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { longestWait } from "../../Schemas/Prefer.ts"
import { securityHeaders } from "../../Schemas/SecurityHeaders.ts"
import { isForwardedHttps } from "../../Schemas/Session.ts"
import { onTooManyPieces, PiecewiseMessage } from "./Pieces.ts"

/** Over these, a connection that sends or takes nothing is cut; they are checked every few seconds. */
const timeouts = {
  headersTimeout: 15_000,
  requestTimeout: 45_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000
}
/** Longer than an answer may be waited for, while nothing is sent. */
const stalledMillis = (longestWait + 15) * 1_000
const goodbyeMillis = 1_000

type Problem = readonly [status: string, code: string, error: string]

const notHttp: Problem = ["400 Bad Request", "invalid_input", "the request is not valid HTTP"]
const tooManyPieces: Problem = [
  "413 Content Too Large",
  "payload_too_large",
  "the request body came in too many pieces"
]
const noTunnel: Problem = ["405 Method Not Allowed", "method_not_allowed", "this service is no proxy"]
const clientErrors: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "invalid_input", "the headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "invalid_input", "the request did not arrive in time"]
}

export interface NodeServer {
  readonly server: Server
  /** Ends the connections that no request is using, now and as they fall idle, and takes no new ones. */
  readonly closeQuiet: () => void
}

/**
 * A server that answers `{"error"}` also where no router is asked: before the routes are attached, and
 * to what is no HTTP. A connection on which nothing is sent or taken for 75 s is cut.
 */
export const makeServer = (): NodeServer => {
  const server = createServer({
    ...timeouts,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    requireHostHeader: false,
    IncomingMessage: PiecewiseMessage
  })
  server.timeout = stalledMillis
  const closeQuiet = trackConnections(server)
  server.on("request", (request, response) => onTooManyPieces(request, response, endPieces))
  server.on("request", notReady)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", notReady)
  })
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
    respond(request, response, 417, "invalid_input", "Expect: only 100-continue is known")
  )
  server.on("connect", (_, socket: Duplex) => endWith(socket, noTunnel))
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy()
    endWith(socket, clientErrors[error.code ?? ""] ?? notHttp)
  })
  return { server, closeQuiet }
}

const endPieces = (request: IncomingMessage, response: ServerResponse): void => {
  const { socket } = request
  if (response.headersSent) end(socket)
  else endWith(socket, tooManyPieces, headersFor(request))
}

/**
 * Cut at once, the answer could be lost; left to the client, a connection could stay for ever: Node.js looks only once
 * whether a request arrives in time.
 */
const end = (socket: Duplex, last = ""): void => {
  socket.end(last)
  setTimeout(() => socket.destroy(), goodbyeMillis).unref()
}

const trackConnections = (server: Server): (() => void) => {
  const requests = new Map<Duplex, number>()
  let closing = false
  server.on("connection", (socket) => {
    if (closing) return socket.destroy()
    requests.set(socket, 0)
    socket.once("close", () => requests.delete(socket))
  })
  server.on("request", ({ socket }, response) => {
    requests.set(socket, (requests.get(socket) ?? 0) + 1)
    response.once("close", () => {
      const left = (requests.get(socket) ?? 1) - 1
      if (requests.has(socket)) requests.set(socket, left)
      if (closing && left === 0) setImmediate(() => socket.end())
    })
  })
  return () => {
    closing = true
    for (const [socket, active] of requests) if (active === 0) socket.destroy()
  }
}

const requestId = (): string => `req_${randomUUID()}`

const headersFor = ({ headers }: IncomingMessage) =>
  securityHeaders(isForwardedHttps(headers["x-forwarded-proto"]?.toString()))

const notReady = (request: IncomingMessage, response: ServerResponse): void =>
  respond(request, response, 503, "unavailable", "the service is starting; try again", { "retry-after": "1" })

const respond = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  code: string,
  error: string,
  headers: Readonly<Record<string, string>> = {}
): void => {
  response.writeHead(status, {
    ...headersFor(request),
    "content-type": "application/json",
    "x-error-code": code,
    "x-request-id": requestId(),
    connection: "close",
    ...headers
  })
  response.end(JSON.stringify({ error }))
}

/** What is no request, or asks for a tunnel, says nothing of https. */
const endWith = (socket: Duplex, [status, code, error]: Problem, headers = securityHeaders(false)): void => {
  const body = JSON.stringify({ error })
  end(
    socket,
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      `X-Error-Code: ${code}\r\nX-Request-Id: ${requestId()}\r\nConnection: close\r\n` +
      `${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")}\r\n${body}`
  )
}
