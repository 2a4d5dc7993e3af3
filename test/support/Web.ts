import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as References from "effect/References"
import { Tracer } from "effect/Tracer"
import * as Authorization from "../../src/Layers/Auth/Authorization.ts"
import * as Http from "../../src/Layers/Http.ts"
import type { Agents } from "../../src/Services/Agents.ts"
import type { Approvals } from "../../src/Services/Approvals.ts"
import type { AuditLog } from "../../src/Services/AuditLog.ts"
import type { AuditNotes } from "../../src/Services/AuditNotes.ts"
import type { Auth } from "../../src/Services/Auth.ts"
import type { Budgets } from "../../src/Services/Budgets.ts"
import type { Chat } from "../../src/Services/Chat.ts"
import type { Connectors } from "../../src/Services/Connectors.ts"
import type { CronJobs } from "../../src/Services/CronJobs.ts"
import type { DatabaseGauges } from "../../src/Services/DatabaseGauges.ts"
import type { DatabaseHealth } from "../../src/Services/DatabaseHealth.ts"
import type { Idempotency } from "../../src/Services/Idempotency.ts"
import type { Ids } from "../../src/Services/Ids.ts"
import type { Lifecycle } from "../../src/Services/Lifecycle.ts"
import type { Memory } from "../../src/Services/Memory.ts"
import type { Policies } from "../../src/Services/Policies.ts"
import type { Projects } from "../../src/Services/Projects.ts"
import type { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import type { Quotas } from "../../src/Services/Quotas.ts"
import type { Rates } from "../../src/Services/Rates.ts"
import type { Retries } from "../../src/Services/Retries.ts"
import type { Runs } from "../../src/Services/Runs.ts"
import type { Settings } from "../../src/Services/Settings.ts"
import type { Signals } from "../../src/Services/Signals.ts"
import { Telemetry } from "../../src/Services/Telemetry.ts"
import type { Tokens } from "../../src/Services/Tokens.ts"
import type { Turns } from "../../src/Services/Turns.ts"
import type { Usage } from "../../src/Services/Usage.ts"
import type { Webhooks } from "../../src/Services/Webhooks.ts"
import type { Workplace } from "../../src/Services/Workplace.ts"
import type { Workspaces } from "../../src/Services/Workspaces.ts"

/** What the routes are built on. */
type Served =
  | Agents
  | AuditLog
  | AuditNotes
  | Auth
  | Chat
  | Connectors
  | CronJobs
  | Memory
  | Policies
  | Projects
  | Approvals
  | ProviderKeys
  | Retries
  | Tokens
  | Turns
  | Usage
  | Webhooks
  | Workplace
  | Workspaces
  | Budgets
  | Quotas
  | DatabaseGauges
  | DatabaseHealth
  | Idempotency
  | Ids
  | Lifecycle
  | Rates
  | Runs
  | Settings
  | Signals
  | Turns

interface Sending {
  readonly token?: string
  readonly origin?: string
  readonly json?: unknown
  readonly body?: string | Buffer<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

const observing = Context.pick(
  Clock.Clock,
  References.CurrentLoggers,
  References.MinimumLogLevel,
  References.TracerEnabled,
  Metric.MetricRegistry,
  Telemetry,
  Tracer
) as <A>(context: Context.Context<A>) => Context.Context<never>

/** The whole HTTP pipeline over the services of the test, without a socket. */
export const makeWeb = Effect.gen(function* () {
  const context = yield* Effect.context<Served>()
  const web = yield* Effect.acquireRelease(
    Effect.sync(() =>
      HttpRouter.toWebHandler(
        Http.layer.pipe(
          Layer.provide([Authorization.layer, Authorization.layerOwnPages]),
          Layer.provide(Layer.succeedContext(context)),
          // What is of no service: the log, the metrics, the spans and the time of the test are those of the requests.
          Layer.provideMerge(Layer.succeedContext(observing(context))),
          Layer.provide(NodeHttpServer.layerHttpServices)
        ),
        { disableLogger: true }
      )
    ),
    ({ dispose }) => Effect.promise(() => dispose())
  )

  const request = (method: string, path: string, options: Sending = {}): Effect.Effect<Response> =>
    Effect.promise(() => {
      const body = options.json === undefined ? options.body : JSON.stringify(options.json)
      return web.handler(
        new Request(`${options.origin ?? "http://agentd.test"}${path}`, {
          method,
          ...(body !== undefined && { body }),
          headers: {
            ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
            ...(body !== undefined && {
              "content-type": "application/json",
              "content-length": `${Buffer.byteLength(body)}`
            }),
            ...options.headers
          }
        })
      )
    })

  const send = (method: string, path: string, options?: Sending): Effect.Effect<Answer> =>
    Effect.flatMap(request(method, path, options), (response) =>
      Effect.promise(async () => {
        const text = await response.text()
        const isJson = response.headers.get("content-type")?.startsWith("application/json") === true
        return {
          status: response.status,
          headers: response.headers,
          text,
          body: isJson && text !== "" ? JSON.parse(text) : undefined
        }
      })
    )

  /** The body as it went over the wire. */
  const sendBytes = (method: string, path: string, options?: Sending) =>
    Effect.flatMap(request(method, path, options), (response) =>
      Effect.promise(async () => ({
        status: response.status,
        headers: response.headers,
        bytes: Buffer.from(await response.arrayBuffer())
      }))
    )

  /** How large the body is, each piece of which is forgotten as it comes. */
  const drain = (method: string, path: string, options?: Sending) =>
    Effect.flatMap(request(method, path, options), (response) =>
      Effect.promise(async () => {
        let bytes = 0
        if (response.body !== null) for await (const piece of response.body) bytes += piece.length
        return { status: response.status, bytes }
      })
    )
  /** As a client that brings its own `fetch` asks. */
  const handler = (asked: Request) => web.handler(asked)
  const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    web.handler(new Request(input, init))

  return { send, sendBytes, drain, handler, fetch }
})

/** Exactly `{"error"}` with its code and a request id (CONTRACT.md section 2). */
export const isError = (answer: Answer, status: number, code: string, sentence?: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.deepStrictEqual(Object.keys(answer.body as object), ["error"])
  assert.strictEqual(answer.headers.get("content-type"), "application/json")
  assert.strictEqual(answer.headers.get("x-error-code"), code)
  assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
  if (sentence !== undefined) assert.deepStrictEqual(answer.body, { error: sentence })
}

export const dataOf = <A>(answer: Answer): A => (answer.body as { readonly data: A }).data

/** The sentence of a refusal: as we say it, as OpenAI does, and as the AI SDK takes it (CONTRACT.md section 14). */
export const sentenceOf = ({ body, headers, text }: Answer): string => {
  if (headers.get("content-type")?.startsWith("text/plain") === true) return text
  const { error } = body as { readonly error: string | { readonly message: string } }
  return typeof error === "string" ? error : error.message
}
