import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import { until } from "./Until.ts"

const modules = resolve(import.meta.dirname, "../../node_modules")
const everything = join(modules, "@modelcontextprotocol/server-everything/dist/index.js")
const memory = join(modules, "@modelcontextprotocol/server-memory/dist/index.js")
const proxy = join(modules, "mcp-proxy/dist/bin/mcp-proxy.mjs")

const listen = (server: Server, port = 0): Promise<number> =>
  new Promise((done, failed) => {
    server.once("error", failed)
    server.listen(port, "127.0.0.1", () => done((server.address() as AddressInfo).port))
  })

const shut = (server: Server): Promise<void> =>
  new Promise((done) => {
    server.close(() => done())
    server.closeAllConnections()
  })

/** A port that nobody listens on. */
export const freePort = Effect.promise(async () => {
  const server = createServer()
  const port = await listen(server)
  await shut(server)
  return port
})

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((done) => {
    child.once("exit", done)
    child.kill("SIGKILL")
  })
}

/** Whether anybody answers HTTP there, whatever the answer. */
const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(30_000) }).then(
    async (response) => {
      await response.body?.cancel()
      return true
    },
    () => false
  )

/** Starts a program that serves MCP at `url`; the scope ends it. */
const startProgram = (url: string, words: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, words, {
        env: { PATH: process.env.PATH, NODE_NO_WARNINGS: "1", ...env },
        stdio: ["ignore", "ignore", "pipe"]
      })
      let said = ""
      child.stderr.on("data", (chunk) => {
        said += chunk
      })
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`does not serve ${url}: ${said}`)
        return answers(url)
      }, `${url} is served`)
      return { url, stop: Effect.promise(() => stop(child)) }
    }),
    (program) => program.stop
  )

/** The server that knows every feature of MCP, with sessions; `stop` kills it before the scope does. */
export const startEverything = Effect.fnUntraced(function* (port?: number) {
  const chosen = port ?? (yield* freePort)
  return {
    port: chosen,
    ...(yield* startProgram(`http://127.0.0.1:${chosen}/mcp`, [everything, "streamableHttp"], {
      PORT: String(chosen)
    }))
  }
})

/** The knowledge graph server, which speaks stdio, behind a proxy to streamable HTTP. */
export const startMemory = Effect.gen(function* () {
  const port = yield* freePort
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "agentd-mcp-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  const words = [proxy, "--port", String(port), "--server", "stream", "--", process.execPath, memory]
  return yield* startProgram(`http://127.0.0.1:${port}/mcp`, words, {
    MEMORY_FILE_PATH: join(folder, "memory.jsonl")
  })
})

/** A server of this process that answers as the test says; the scope ends it. */
export const startHttp = (
  handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  port = 0
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer((request, response) => void handle(request, response))
        return { server, port: await listen(server, port) }
      }),
      ({ server }) => Effect.promise(() => shut(server))
    ),
    ({ port: bound, server }) => ({
      port: bound,
      url: `http://127.0.0.1:${bound}/mcp`,
      stop: Effect.promise(() => shut(server))
    })
  )

export const readBody = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request) text += chunk
  return text
}

export interface Asked {
  readonly id?: number
  readonly method: string
  // biome-ignore lint/suspicious/noExplicitAny: what a client sends
  readonly params: any
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Answers a request by itself instead of with a result. */
export const handled = Symbol("handled")

/**
 * An MCP server of these versions without sessions, with these tools. `answer` may answer any message
 * itself: a result, `handled`, or undefined for what such a server answers.
 */
export const startScripted = (options: {
  readonly versions?: ReadonlyArray<string>
  readonly tools?: ReadonlyArray<unknown>
  readonly port?: number
  readonly answer?: (asked: Asked) => object | typeof handled | undefined
}) => {
  const versions = options.versions ?? ["2025-11-25"]
  /** The methods of all messages so far, or of HTTP where there was none. */
  const asked: Array<string> = []
  const usual = ({ method, params }: Asked): object | undefined => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: versions.includes(params.protocolVersion) ? params.protocolVersion : versions[0],
          capabilities: { tools: {} },
          serverInfo: { name: "scripted", version: "1" }
        }
      case "tools/list":
        return { tools: options.tools ?? [] }
      case "tools/call":
        return { content: [{ type: "text", text: `${params.name} done` }] }
      default:
        return undefined
    }
  }
  return Effect.map(
    startHttp(async (request, response) => {
      const body = await readBody(request)
      if (body === "") {
        asked.push(request.method ?? "")
        response.writeHead(405).end()
        return
      }
      const message = JSON.parse(body)
      asked.push(message.method)
      const question: Asked = { ...message, request, response }
      const result = options.answer?.(question) ?? usual(question)
      if (result === handled) return
      if (message.id === undefined) {
        response.writeHead(202).end()
        return
      }
      const answer =
        result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result }
      response
        .writeHead(result === undefined ? 400 : 200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer }))
    }, options.port),
    (server) => ({ ...server, asked })
  )
}

/** A tool as a server lists it. */
export const listedTool = (name: string, given: object = {}) => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: "object", properties: {} },
  ...given
})
