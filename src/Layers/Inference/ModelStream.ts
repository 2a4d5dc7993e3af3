import type { LanguageModelV4StreamPart } from "@ai-sdk/provider"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { secretsOfAddress } from "../../Schemas/ConnectorSecrets.ts"
import * as GenAi from "../../Schemas/GenAi.ts"
import type { InferenceError, InferenceEvent, InferenceRequest } from "../../Schemas/Inference.ts"
import type { Thinker } from "../../Schemas/Reasoning.ts"
import { makeScrubber } from "../../Schemas/Scrub.ts"
import { wireNames } from "../../Schemas/WireName.ts"
import type { Asking } from "../../Services/Inference.ts"
import * as Telemetry from "../../Services/Telemetry.ts"
import { makeBatches, readAll } from "./Batches.ts"
import { type Failure, failureOf } from "./Failures.ts"
import { makeWatch } from "./Liveness.ts"
import { metered } from "./Metered.ts"
import { brings, cutOff, makeReading, noAnswer } from "./Parts.ts"
import { makePlainText } from "./PlainText.ts"
import { type Asked, toCallOptions } from "./Prompt.ts"
import { baseUrlOf, type Connection, dialectOf, languageModel, outputLimitOf } from "./Provider.ts"
import { scrubbed } from "./Scrubbed.ts"

const retries = 3
const firstWaitMillis = 500
/** Who asks for a longer pause than this is told of it instead of waited for. */
const longestWaitMillis = 30_000

/** One request under way: its parts are pulled, and closing the scope closes its connection. */
interface Open {
  readonly first: ReadonlyArray<InferenceEvent>
  /** What comes next; nothing is the end. */
  readonly next: Effect.Effect<ReadonlyArray<InferenceEvent>, Failure>
}

interface Attempt {
  readonly connection: Connection
  readonly idleMillis: number
  readonly request: InferenceRequest
  readonly asked: Asked
}

/** It may not be asked another time, for a reason of who asks. */
interface NotAgain<E> {
  readonly notAgain: E
}

/**
 * Asks a model over this connection; see `Model.stream` for what it guarantees. The provider may send nothing for
 * `idleMillis`.
 */
export const make =
  (connection: Connection, idleMillis: number) =>
  <E = never>(
    request: InferenceRequest,
    asking?: Asking<E>
  ): Stream.Stream<InferenceEvent, InferenceError | E> => {
    const asked = askedOf(connection, request, asking?.maxOutputTokens ?? null)
    return Stream.unwrap(
      Effect.map(connect({ connection, idleMillis, request, asked }, asking), (open) =>
        Stream.fromPull(Effect.succeed(pullOf(open)))
      )
    ).pipe(Stream.mapError((failed) => ("notAgain" in failed ? failed.notAgain : failed.error)))
  }

const askedOf = (
  connection: Connection,
  { messages, sampling, tools }: InferenceRequest,
  mostTokens: number | null
): Asked => {
  const dialect = dialectOf(connection)
  const isLasting = dialect === "openai-compatible"
  const thinker: Thinker = { provider: dialect, model: connection.model, isLasting }
  return {
    dialect,
    thinker,
    names: wireNames(dialect, tools, messages),
    maxOutputTokens: leastOf(outputLimitOf(connection) ?? mostTokens, sampling?.maxOutputTokens ?? null),
    needsThoughts: false,
    tellsFormat: true
  }
}

const leastOf = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

const pullOf = ({ first, next }: Open) => {
  let pending: ReadonlyArray<InferenceEvent> | undefined = first
  let ended = false
  const pull = Effect.suspend(() => {
    if (ended) return Effect.succeed([])
    if (pending === undefined) return next
    const events = pending
    pending = undefined
    return Effect.succeed(events)
  })
  return Effect.flatMap(pull, (events) => {
    const [event, ...more] = events
    if (event === undefined) return Cause.done()
    ended = events.some(({ type }) => type === "finish")
    return Effect.succeed([event, ...more] as const)
  })
}

/** Tries until something is there to be told; after that nothing is tried again. */
const connect = Effect.fnUntraced(function* <E>(given: Attempt, asking: Asking<E> | undefined) {
  const parent = yield* Effect.scope
  let { asked } = given
  const again = Effect.mapError(asking?.again ?? Effect.void, (notAgain): NotAgain<E> => ({ notAgain }))
  for (let attempt = 0; ; attempt++) {
    const scope = yield* Scope.fork(parent)
    const opened = yield* Effect.result(Scope.provide(open({ ...given, asked }), scope))
    if (Result.isSuccess(opened)) return opened.success
    yield* Scope.close(scope, Exit.void)
    const { failure } = opened
    yield* Telemetry.annotate(() => ({ "agentd.tries": attempt + 1 }))
    if (asking !== undefined) yield* asking.failed(failure.isUnasked === true)
    const other = askedOtherwise(failure, asked, given.request)
    if (other !== undefined) {
      asked = other
      yield* again
      continue
    }
    const backoff = firstWaitMillis * 2 ** attempt * (0.75 + (yield* Random.next) / 2)
    const wait = failure.retryAfterMillis ?? backoff
    if (!failure.isRetryable || attempt >= retries || wait > longestWaitMillis) {
      return yield* Effect.fail(failure)
    }
    yield* Effect.sleep(wait)
    yield* again
  }
})

/** How it may be asked at once of a provider that does not take it so. */
const askedOtherwise = (failure: Failure, asked: Asked, { format }: InferenceRequest): Asked | undefined => {
  if (missesThoughts(failure, asked)) return { ...asked, needsThoughts: true }
  // Each has schemas, or formats, that it refuses: what is wrong else it says again.
  const mayMissFormat = format !== undefined && asked.tellsFormat && failure.error.reason === "bad_request"
  return mayMissFormat ? { ...asked, tellsFormat: false } : undefined
}

/** What was answered by others has no thoughts of this model, which some refuse: they are asked with empty ones. */
const missesThoughts = ({ error }: Failure, { dialect, needsThoughts }: Asked): boolean =>
  dialect === "openai-compatible" &&
  !needsThoughts &&
  error.reason === "bad_request" &&
  /reasoning_content/u.test(error.error)

const open = Effect.fnUntraced(function* ({ asked, connection, idleMillis, request }: Attempt) {
  const scrubber = scrubberOf(connection)
  const controller = new AbortController()
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  let hasBegun = false
  const clock = yield* Clock.Clock
  const close = () => {
    controller.abort()
    reader?.cancel().catch(() => undefined)
  }
  yield* Effect.addFinalizer(() => Effect.sync(close))
  const watch = makeWatch(idleMillis, clock, close)
  yield* Effect.addFinalizer(() => Effect.sync(watch.leave))
  const failed = (raw: unknown): Failure =>
    watch.failure() ??
    failureOf(raw, { hasBegun, now: clock.currentTimeMillisUnsafe(), scrub: scrubber.text })
  const ask = <A>(promise: () => PromiseLike<A>) =>
    Effect.tryPromise({ try: async () => await promise(), catch: failed })

  const batches = makeBatches()
  const { dialect, names, thinker } = asked
  const take = makeReading({ thinker, tool: names.tool, failed, hasBegun: () => hasBegun })
  const note = yield* Telemetry.noting
  note?.(toldOf(connection, asked, request))
  const tell = (part: LanguageModelV4StreamPart): Failure | undefined => {
    if (note !== undefined) noteOf(part, scrubber.text, note)
    const events = take(part)
    if (brings(part)) watch.carried()
    if ("isRetryable" in events) return events
    hasBegun ||= events.some(isTold)
    batches.push(events)
    return undefined
  }
  const plain =
    dialect === "openai-compatible"
      ? makePlainText((id, delta) => void tell({ type: "text-delta", id, delta }), batches.room)
      : undefined

  const fetch = metered(connection.fetch, { heard: watch.heard, plain })
  const model = yield* ask(() => languageModel({ ...connection, fetch }))
  const traceparent = yield* Telemetry.outgoing
  const { stream } = yield* ask(() =>
    model.doStream({
      ...toCallOptions(request, asked),
      abortSignal: controller.signal,
      ...(traceparent !== null && { headers: { traceparent } })
    })
  )
  reader = stream.getReader()
  readAll(reader, batches, {
    failed,
    isOver: () => watch.failure() !== undefined,
    atEnd: () => (hasBegun ? cutOff : undefined),
    take: (part) => {
      const failure = tell(part)
      if (part.type === "text-delta") plain?.told(part.id)
      return failure
    }
  })

  const withoutSecrets = scrubbed(scrubber)
  const next: Open["next"] = Effect.flatMap(batches.take, (batch) => {
    const events = withoutSecrets(batch)
    // All of it may be the begin of a secret.
    return events.length > 0 || batch.length === 0 ? Effect.succeed(events) : next
  })
  // What it only thought so far nobody has seen: it may be asked again.
  const first: Array<InferenceEvent> = []
  while (!first.some(isTold)) {
    const events = yield* next
    if (events.length === 0) return yield* Effect.fail(noAnswer)
    first.push(...events)
  }
  return { first, next } satisfies Open
})

/** What a provider must not say back: the key, and what of its address looks like one. */
const scrubberOf = ({ apiKey, baseUrl }: Connection) =>
  makeScrubber([
    ...(apiKey === null ? [] : [Redacted.value(apiKey)]),
    ...(baseUrl === null ? [] : secretsOfAddress(baseUrl))
  ])

/** What the span of a question says of where it is asked. */
const toldOf = (connection: Connection, { maxOutputTokens }: Asked, request: InferenceRequest) =>
  GenAi.asked({ address: baseUrlOf(connection), maxOutputTokens, request })

/** What it says of the answer. */
const noteOf = (
  part: LanguageModelV4StreamPart,
  scrub: (text: string) => string,
  note: (attributes: GenAi.Attributes) => void
): void => {
  if (part.type === "response-metadata") note(GenAi.responded({ id: part.id, model: part.modelId }, scrub))
  if (part.type === "finish") note(GenAi.responded({ finishReason: part.finishReason }, scrub))
}

const isTold = (event: InferenceEvent): boolean =>
  event.type === "text" ? event.delta !== "" : event.type !== "reasoning"
