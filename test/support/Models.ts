import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { text as bodyOf } from "node:stream/consumers"
import { LLMock } from "@copilotkit/aimock"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as ModelStream from "../../src/Layers/Inference/ModelStream.ts"
import type { Connection } from "../../src/Layers/Inference/Provider.ts"
import * as Client from "../../src/Layers/Outbound/Client.ts"
import type { InferenceEvent, InferenceRequest } from "../../src/Schemas/Inference.ts"
import type { ToolDefinition } from "../../src/Schemas/Tool.ts"

/** Every wire protocol. */
export const protocols = ["openai", "anthropic", "google", "openai-compatible"] as const
export type Protocol = (typeof protocols)[number]

export const secretKey = "sk-test-0123456789abcdef"

export interface Received {
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly raw: string
  /** The request as the provider reads it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into four wire formats
  readonly body: any
  /** Resolves when the socket of this request was closed. */
  readonly closed: Promise<void>
}

export type Answer = (response: Http.ServerResponse, received: Received) => void

/** A provider that gives the answers in turn, the last one ever after. */
export const makeServer = Effect.fnUntraced(function* (...answers: ReadonlyArray<Answer>) {
  const received: Array<Received> = []
  const server = Http.createServer(async (request, response) => {
    const { headers, socket, url: path = "" } = request
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
    const raw = await bodyOf(request)
    const one = { path, headers, raw, body: raw === "" ? undefined : JSON.parse(raw), closed }
    received.push(one)
    answers[Math.min(received.length, answers.length) - 1]?.(response, one)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
})

/** aimock. Its journal shows requests translated and without their keys: see `makeTapped`. */
export const makeMock = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0 })
    await mock.start()
    return mock
  }),
  (mock) => Effect.promise(() => mock.stop())
)

/** aimock behind a server that shows each request as the provider would get it. */
export const makeTapped = Effect.gen(function* () {
  const mock = yield* makeMock
  const forward: Answer = (response, { headers, path, raw }) => {
    const target = Http.request(`${mock.url}${path}`, { method: "POST", headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.on("error", () => response.destroy()).pipe(response)
    })
    target.on("error", () => response.destroy()).end(raw)
  }
  return { mock, ...(yield* makeServer(forward)) }
})

/**
 * A model over the connections that the service itself uses. `heard` is told of each piece of an answer that
 * has come.
 */
export const makeModel = Effect.fnUntraced(function* (
  provider: Protocol,
  baseUrl: string,
  idleMillis = 3_600_000,
  heard?: () => void,
  more: Partial<Connection> = {}
) {
  const client = yield* Client.make({})
  const fetch = heard === undefined ? client : told(client, heard)
  const apiKey = Redacted.make(secretKey)
  const connection = { provider, model: `${provider}-model`, apiKey, baseUrl, maxOutputTokens: null, fetch }
  return ModelStream.make({ ...connection, ...more }, idleMillis)
})

/** `openai` at its own address, which is answered by the server at `url`. */
export const makeOpenAi = Effect.fnUntraced(function* (url: string, more: Partial<Connection> = {}) {
  const client = yield* Client.make({})
  const fetch: typeof globalThis.fetch = (input, init) =>
    client(String(input).replace("https://api.openai.com", url), init)
  return yield* makeModel("openai", url, undefined, undefined, { baseUrl: null, fetch, ...more })
})

const told =
  (client: typeof globalThis.fetch, heard: () => void): typeof globalThis.fetch =>
  async (input, init) => {
    const { body, headers, status } = await client(input, init)
    const telling = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, controller) => {
        controller.enqueue(chunk)
        heard()
      }
    })
    return new Response(body?.pipeThrough(telling) ?? null, { headers, status })
  }

/** Everything that a model says, and the error that it ended with; `events` are there as they come. */
export const ask = Effect.fnUntraced(function* (
  model: Effect.Success<ReturnType<typeof makeModel>>,
  request: InferenceRequest = requestOf("hello"),
  events: Array<InferenceEvent> = []
) {
  const exit = yield* Effect.exit(
    Stream.runForEach(model(request), (event) => Effect.sync(() => events.push(event)))
  )
  const text = events.flatMap((event) => (event.type === "text" && event.delta !== "" ? [event.delta] : []))
  const calls = events.flatMap((event) => (event.type === "tool_call" ? [event.call] : []))
  const usage = events.flatMap((event) => (event.type === "finish" ? [event.usage] : []))
  const error =
    exit._tag === "Failure"
      ? exit.cause.reasons.flatMap((r) => (r._tag === "Fail" ? [r.error] : []))[0]
      : null
  const shown = exit._tag === "Failure" ? `${Cause.pretty(exit.cause)} ${JSON.stringify(exit.cause)}` : ""
  return { events, text, calls, usage, error, reason: error?.reason ?? null, shown }
})

export const requestOf = (
  content: string,
  { system = null, tools = [] }: Partial<Pick<InferenceRequest, "system" | "tools">> = {}
): InferenceRequest => ({ system, messages: [{ role: "user", content }], tools })

export const weather: ToolDefinition = {
  name: "weather",
  description: "Tells the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string", description: "Its name" }, days: { type: "integer" } },
    required: ["city"]
  },
  readOnly: true
}

/** A clock with which every pause is over at once, but none as long as `idleMillis`; tells the pauses. */
export const makeHaste = Effect.map(Clock.Clock, (clock) => {
  const pauses: Array<number> = []
  const haste: Clock.Clock = {
    ...clock,
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    sleep: (duration) => {
      const millis = Duration.toMillis(duration)
      if (millis > 40_000) return Effect.never
      pauses.push(millis)
      return Effect.yieldNow
    }
  }
  return { pauses, hasten: Effect.provideService(Clock.Clock, haste) }
})

/** An error as each provider words it. */
export const refuses =
  (
    protocol: Protocol,
    status: number,
    error: { readonly message: string; readonly type?: string; readonly code?: string },
    headers: Readonly<Record<string, string>> = {}
  ): Answer =>
  (response) => {
    const { code = null, message, type = "error" } = error
    const body = {
      openai: { error: { message, type, param: null, code } },
      "openai-compatible": { error: { message, type, param: null, code } },
      anthropic: { type: "error", error: { type, message }, request_id: "req_1" },
      google: { error: { code: status, message, status: type } }
    }[protocol]
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
  }

const line = (data: object, event?: string) =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

const openAi = (delta: object, finish_reason: string | null = null) =>
  line({
    id: "c1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason }]
  })

const claude = (data: { readonly type: string; readonly [field: string]: unknown }) => line(data, data.type)

/** The beginning of a text, as it comes over the wire. */
export const textChunk = (protocol: Protocol, text: string): string => {
  if (protocol === "google") {
    return line({ candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0 }] })
  }
  if (protocol !== "anthropic") return openAi({ role: "assistant", content: text })
  return (
    claudeStart +
    claude({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
    claudeText(text)
  )
}

const claudeText = (text: string) =>
  claude({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })

const usage = { input_tokens: 3, output_tokens: 1 }
const claudeStart = claude({
  type: "message_start",
  message: { id: "m1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage }
})

/** A whole answer that calls a tool with exactly these arguments. `google` has no arguments but objects. */
export const callChunks = (protocol: Exclude<Protocol, "google">, name: string, json: string): string =>
  protocol === "anthropic"
    ? claudeStart +
      claude({
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "toolu_1", name, input: {} }
      }) +
      claude({
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: json }
      }) +
      claude({ type: "content_block_stop", index: 0 }) +
      claude({ type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage }) +
      claude({ type: "message_stop" })
    : openAi({
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: json } }]
      }) +
      openAi({}, "tool_calls") +
      "data: [DONE]\n\n"

const endings: Readonly<Record<Protocol, string>> = {
  openai: `${openAi({}, "stop")}data: [DONE]\n\n`,
  "openai-compatible": `${openAi({}, "stop")}data: [DONE]\n\n`,
  anthropic:
    claude({ type: "content_block_stop", index: 0 }) +
    claude({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage }) +
    claude({ type: "message_stop" }),
  google: line({ candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP", index: 0 }] })
}

/** A whole answer, in these pieces. */
export const says = (protocol: Protocol, text: string, ...more: ReadonlyArray<string>): Answer => {
  const rest = more.map((piece) =>
    protocol === "anthropic" ? claudeText(piece) : textChunk(protocol, piece)
  )
  return begins(
    textChunk(protocol, text) + rest.join("") + endings[protocol],
    (response) => void response.end()
  )
}

/** Begins an event stream with these bytes and leaves it open. */
export const begins =
  (bytes: string, then: (response: Http.ServerResponse) => void = () => undefined): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(bytes, () => then(response))
  }
