import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { InferenceError, InferenceEvent, InferenceRequest } from "../../Schemas/Inference.ts"
import { tokenCount } from "../../Schemas/Usage.ts"
import { type Failure, failureOf, finally_ } from "./Failures.ts"
import { metered } from "./Metered.ts"
import { toCallOptions } from "./Prompt.ts"

const retries = 3
const firstWaitMillis = 500
/** Who asks for a longer pause than this is told of it instead of waited for. */
const longestWaitMillis = 30_000

export interface StreamOptions {
  /** Loads the model over this `fetch`; may be called again for another try. */
  readonly load: (fetch: typeof globalThis.fetch) => Promise<LanguageModelV4>
  readonly fetch: typeof globalThis.fetch
  /** How long the provider may send nothing at all. */
  readonly idleMillis: number
  /** What must never appear in an error. */
  readonly secret: string | null
}

/** One request under way: its parts are pulled, and closing the scope closes its connection. */
interface Open {
  readonly first: InferenceEvent
  readonly next: Effect.Effect<InferenceEvent | undefined, Failure>
}

/** Asks a model of a provider package; see `Model.stream` for what it guarantees. */
export const make =
  (options: StreamOptions) =>
  (request: InferenceRequest): Stream.Stream<InferenceEvent, InferenceError> =>
    Stream.unwrap(
      Effect.map(connect(options, request), ({ first, next }) => {
        let pending: InferenceEvent | undefined = first
        const pull = Effect.suspend(() => {
          if (pending === undefined) return next
          const event = pending
          pending = undefined
          return Effect.succeed(event)
        })
        let ended = false
        return Stream.fromPull(
          Effect.succeed(
            Effect.flatMap(pull, (event) => {
              if (ended || event === undefined) return Cause.done()
              ended = event.type === "finish"
              return Effect.succeed([event] as const)
            })
          )
        )
      })
    ).pipe(Stream.mapError(({ error }) => error))

/** Tries until the first event is there; after that nothing is tried again. */
const connect = Effect.fnUntraced(function* (options: StreamOptions, request: InferenceRequest) {
  const parent = yield* Effect.scope
  for (let attempt = 0; ; attempt++) {
    const scope = yield* Scope.fork(parent)
    const opened = yield* Effect.result(Scope.provide(open(options, request), scope))
    if (Result.isSuccess(opened)) return opened.success
    yield* Scope.close(scope, Exit.void)
    const { failure } = opened
    const backoff = firstWaitMillis * 2 ** attempt * (0.75 + (yield* Random.next) / 2)
    const wait = failure.retryAfterMillis ?? backoff
    if (!failure.isRetryable || attempt >= retries || wait > longestWaitMillis) {
      return yield* Effect.fail(failure)
    }
    yield* Effect.sleep(wait)
  }
})

const open = Effect.fnUntraced(function* (options: StreamOptions, request: InferenceRequest) {
  const { fetch, idleMillis, load, secret } = options
  const controller = new AbortController()
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  let isIdle = false
  let hasBegun = false
  let lastHeard = yield* Clock.currentTimeMillis
  const close = () => {
    controller.abort()
    reader?.cancel().catch(() => undefined)
  }
  yield* Effect.addFinalizer(() => Effect.sync(close))
  const clock = yield* Clock.Clock
  const failed = (raw: unknown): Failure =>
    isIdle
      ? finally_("timeout", `the model provider sent nothing for ${idleMillis / 1000} s`)
      : failureOf(raw, { hasBegun, now: clock.currentTimeMillisUnsafe(), secret })
  const ask = <A>(promise: () => PromiseLike<A>) =>
    Effect.tryPromise({ try: async () => await promise(), catch: failed })

  yield* Effect.gen(function* () {
    while (!isIdle) {
      const rest = lastHeard + idleMillis - (yield* Clock.currentTimeMillis)
      if (rest > 0) yield* Effect.sleep(rest)
      else {
        isIdle = true
        close()
      }
    }
  }).pipe(Effect.forkScoped)

  const heard = () => {
    lastHeard = clock.currentTimeMillisUnsafe()
  }
  const model = yield* ask(() => load(metered(fetch, heard)))
  const { stream } = yield* ask(() =>
    model.doStream({ ...toCallOptions(request), abortSignal: controller.signal })
  )
  reader = stream.getReader()
  const read = reader.read.bind(reader)

  const next: Open["next"] = Effect.gen(function* () {
    while (true) {
      const { done, value } = yield* ask(read)
      heard()
      if (isIdle) return yield* Effect.fail(failed(undefined))
      if (done) return undefined
      const event = yield* toEvent(value, failed, hasBegun)
      if (event === undefined) continue
      hasBegun = true
      return event
    }
  })
  const first = yield* next
  if (first === undefined) return yield* Effect.fail(noAnswer)
  return { first, next }
})

const toEvent = (
  part: LanguageModelV4StreamPart,
  failed: (raw: unknown) => Failure,
  hasBegun: boolean
): Effect.Effect<InferenceEvent | undefined, Failure> => {
  switch (part.type) {
    case "text-delta":
      return Effect.succeed(part.delta === "" ? undefined : { type: "text", delta: part.delta })
    case "tool-call":
      return Effect.succeed({
        type: "tool_call",
        call: {
          id: part.toolCallId,
          name: part.toolName,
          arguments: parse(part.input),
          ...(part.providerMetadata !== undefined && {
            providerMetadata: part.providerMetadata as Schema.JsonObject
          })
        }
      })
    case "error":
      return Effect.fail(failed(part.error))
    case "finish": {
      switch (part.finishReason.unified) {
        case "content-filter":
          return Effect.fail(
            finally_("content_filter", "the content filter of the model provider stopped the answer")
          )
        case "length":
          return Effect.fail(finally_("truncated", "the model stopped at its limit of output tokens"))
        case "interrupted":
          return Effect.fail(hasBegun ? cutOff : noAnswer)
        case "error":
          return Effect.fail(finally_("unknown", "the model provider broke the answer off"))
        default: {
          const { inputTokens, outputTokens } = part.usage
          return Effect.succeed({
            type: "finish",
            usage: {
              inputTokens: tokenCount(inputTokens.total),
              outputTokens: tokenCount(outputTokens.total)
            }
          })
        }
      }
    }
    default:
      return Effect.succeed(undefined)
  }
}

const cutOff = finally_("truncated", "the answer of the model was cut off")
const noAnswer = finally_("unknown", "the model provider answered with something that can't be read")

/** Arguments that are no JSON are kept as the text that they are: the tool refuses them in words. */
const parse = (input: string): Schema.Json => {
  try {
    return JSON.parse(input === "" ? "{}" : input) as Schema.Json
  } catch {
    return input
  }
}
