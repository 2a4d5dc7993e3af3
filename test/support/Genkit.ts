import { spawn } from "node:child_process"
import { existsSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { freePort, temporaryFolder } from "./PostgresServer.ts"
import { until } from "./Until.ts"

const folder = resolve(import.meta.dirname, "../collector/node_modules/@genkit-ai/telemetry-server")

/** Suites that need it have this in their names. */
export const isInstalled = existsSync(folder)
export const needed = "npm ci in test/collector"

/** A span as the collector shows it to who looks at a trace. */
export interface ShownSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly displayName: string
  readonly spanKind: string
  readonly startTime: number
  readonly endTime: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status?: { readonly code: number; readonly message?: string }
}

const program = (port: number, store: string) => `
  const { LocalFileLogStore, LocalFileTraceStore, startTelemetryServer } = await import(${JSON.stringify(
    pathToFileURL(join(folder, "lib/cjs/index.js")).href
  )})
  const at = (name) => ({ storeRoot: ${JSON.stringify(store)} + "/" + name, indexRoot: ${JSON.stringify(store)} + "/" + name + "-index" })
  await startTelemetryServer({
    port: ${port},
    traceStore: new LocalFileTraceStore(at("traces")),
    logStore: new LocalFileLogStore(at("logs"))
  })
`

/** The collector of Genkit, as its developers run it: takes OTLP (`http/json`), keeps traces and shows them. */
export const startGenkit = async () => {
  const port = await freePort()
  const store = temporaryFolder("agentd-genkit-")
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program(port, store)], {
    stdio: "ignore"
  })
  const api = `http://127.0.0.1:${port}/api`
  const answers = (path: string) => fetch(`${api}/${path}`).catch(() => undefined)
  await until(async () => (await answers("__health"))?.ok === true, "the collector of Genkit answers")
  const list = async <A>(path: string, name: string): Promise<ReadonlyArray<A>> =>
    ((await (await answers(path))?.json()) as Record<string, ReadonlyArray<A>> | undefined)?.[name] ?? []
  return {
    /** What `OTEL_EXPORTER_OTLP_ENDPOINT` is. */
    url: `${api}/otlp`,
    traces: () => list<{ readonly traceId: string }>("traces?limit=100", "traces"),
    spans: async (traceId: string): Promise<ReadonlyArray<ShownSpan>> => {
      const trace = (await (await answers(`traces/${traceId}`))?.json().catch(() => null)) as {
        readonly spans?: Readonly<Record<string, ShownSpan>>
      } | null
      return Object.values(trace?.spans ?? {}).toSorted((a, b) => a.startTime - b.startTime)
    },
    logs: () => list<unknown>("logs?limit=1000", "logs"),
    stop: () => {
      child.kill("SIGKILL")
      rmSync(store, { recursive: true, force: true })
    }
  }
}
