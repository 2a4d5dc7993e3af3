import { existsSync } from "node:fs"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { gunzipSync } from "node:zlib"

/** What OpenTelemetry itself reads OTLP with: a folder of its own, so that `npm ci` stays quick. */
const folder = resolve(import.meta.dirname, "../collector")
const definitions = join(folder, "node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js")

/** Suites that need what is installed there have this in their names. */
export const isInstalled = existsSync(definitions)
export const needed = "npm ci in test/collector"

// biome-ignore lint/suspicious/noExplicitAny: what the definitions of OpenTelemetry make of bytes
type Decoded = any

const requests = {
  "/v1/traces": ["trace", "ExportTraceServiceRequest"],
  "/v1/metrics": ["metrics", "ExportMetricsServiceRequest"],
  "/v1/logs": ["logs", "ExportLogsServiceRequest"]
} as const

const decode = (path: keyof typeof requests, bytes: Buffer): Decoded => {
  const { opentelemetry } = createRequire(import.meta.url)(definitions)
  const [signal, name] = requests[path]
  const message = opentelemetry.proto.collector[signal].v1[name]
  const decoded = message.decode(bytes)
  // What the definitions don't know would be lost on the way back. (Lists of numbers they write in another of two ways.)
  const isAllKnown = signal === "metrics" || Buffer.from(message.encode(decoded).finish()).equals(bytes)
  if (!isAllKnown) throw new Error("not all of it is known")
  const read = message.toObject(decoded, { longs: String, enums: Number, bytes: Buffer })
  return JSON.parse(JSON.stringify(read, hexIds))
}

/** Ids as JSON of OTLP has them. */
const hexIds = (_key: string, value: Decoded): unknown =>
  value?.type === "Buffer" ? Buffer.from(value.data).toString("hex") : value

const fields = (attributes: ReadonlyArray<Decoded> = []): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? value : Number(value.intValue))
    ])
  )

export interface Got {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Decoded
}

/** How it treats who asks: takes all; is away; never answers; answers without an end; refuses. */
export type Mood = "takes" | "away" | "silent" | "endless" | "refuses"

const answer = (mood: Mood, response: ServerResponse): void => {
  switch (mood) {
    case "takes":
      response.writeHead(200).end()
      return
    case "away":
      response.writeHead(503).end()
      return
    case "refuses":
      response.writeHead(400).end("no")
      return
    case "silent":
      return
    case "endless":
      response.writeHead(503)
      endless(response)
  }
}

const endless = (response: ServerResponse): void => {
  if (response.destroyed) return
  response.write(Buffer.alloc(65_536, "x"), () => setImmediate(() => endless(response)))
}

/** A collector that reads by OpenTelemetry's own definitions what is sent to it, and keeps it. */
export const startCollector = async () => {
  const got: Array<Got> = []
  const problems: Array<string> = []
  let mood: Mood = "takes"
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Array<Buffer> = []
    for await (const piece of request) pieces.push(piece)
    const sent = Buffer.concat(pieces)
    const path = request.url ?? ""
    try {
      const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent
      const isJson = request.headers["content-type"] === "application/json"
      const body = isJson ? JSON.parse(bytes.toString()) : decode(path as keyof typeof requests, bytes)
      if (mood === "takes") got.push({ path, headers: request.headers, body })
    } catch (error) {
      problems.push(`${path}: ${error}`)
    }
    answer(mood, response)
  }
  const server = createServer((request, response) => {
    request.on("error", () => undefined)
    void take(request, response).catch(() => undefined)
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  const of = (path: string) => got.filter((one) => one.path === path)
  return {
    url: `http://127.0.0.1:${port}`,
    got,
    problems,
    set: (next: Mood) => {
      mood = next
    },
    spans: () =>
      of("/v1/traces").flatMap(({ body }) =>
        body.resourceSpans.flatMap((resource: Decoded) =>
          resource.scopeSpans.flatMap(({ spans }: Decoded) =>
            spans.map((span: Decoded) => ({
              ...span,
              resource: fields(resource.resource.attributes),
              fields: fields(span.attributes)
            }))
          )
        )
      ) as ReadonlyArray<Decoded>,
    lines: () =>
      of("/v1/logs").flatMap(({ body }) =>
        body.resourceLogs.flatMap((resource: Decoded) =>
          resource.scopeLogs.flatMap(({ logRecords }: Decoded) =>
            logRecords.map((line: Decoded) => ({
              ...line,
              resource: fields(resource.resource.attributes),
              fields: fields(line.attributes)
            }))
          )
        )
      ) as ReadonlyArray<Decoded>,
    /** Of the latest export. */
    metrics: (): ReadonlyMap<string, Decoded> =>
      new Map(
        (of("/v1/metrics").at(-1)?.body.resourceMetrics ?? []).flatMap(({ scopeMetrics }: Decoded) =>
          scopeMetrics.flatMap(({ metrics }: Decoded) =>
            metrics.map((metric: Decoded) => [metric.name, metric])
          )
        )
      ),
    stop: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

export type Collector = Awaited<ReturnType<typeof startCollector>>
