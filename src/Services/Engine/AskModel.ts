import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { MessageId } from "../../Schemas/Ids.ts"
import type { InferenceRequest } from "../../Schemas/Inference.ts"
import { outputExceeded, stepsExceeded, tooSlow } from "../../Schemas/Limits.ts"
import { makeAnswer } from "../../Schemas/ModelAnswer.ts"
import { costOf } from "../../Schemas/Pricing.ts"
import { fitPrompt, promptBudget } from "../../Schemas/Prompt.ts"
import { type RunEvent, responding } from "../../Schemas/RunEvent.ts"
import { noUsage, type Usage } from "../../Schemas/Usage.ts"
import type { Model } from "../Inference.ts"
import { whileOurs } from "../Lease.ts"
import type { SettingsShape } from "../Settings.ts"
import { CallBudget, type NotBegun } from "./CallBudget.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"
import * as Spans from "./Spans.ts"

interface Question<E> {
  /** Looked up when it is asked. */
  readonly model: Effect.Effect<Model, E>
  /** All messages: what the model is shown of them is cut to the budget of tokens. */
  readonly request: InferenceRequest
  /** How long the answer may be, its calls included, in UTF-16 code units. */
  readonly room: number
  /** Told first. */
  readonly thinking: RunEvent
  /** Of the reply of a chat turn. */
  readonly messageId: MessageId | null
  /** What it says is not told. */
  readonly isHeld: boolean
  readonly emit: ExecutionLog["emit"]
}

/**
 * Asks a model once, bounded in time, text and calls, and tells what it says as it says it, unless that is held back. An answer that was cut off
 * is kept as far as it came, without its calls: the last of them may be half of one.
 */
export const askModel = Effect.fnUntraced(function* <E>(
  { emit, isHeld, messageId, model, request, room, thinking }: Question<E>,
  { historyTokens, maxOutputLength, maxSteps, modelTimeoutMillis }: SettingsShape
) {
  yield* emit(thinking)
  const asked = yield* model
  const { answeredBy, pricing, stream } = asked
  const answer = makeAnswer(request.messages)
  const messages = fitPrompt(request.messages, promptBudget(historyTokens, request.tools))
  yield* whileOurs
  const tell = (events: ReadonlyArray<RunEvent>): Effect.Effect<void> => {
    const [first, ...more] = events
    if (first === undefined) return Effect.void
    return more.length === 0 ? emit(first) : Effect.forEach(events, emit, { discard: true })
  }
  const question = { model: asked, request: { ...request, messages } }
  const isCounted = () => tokensOf(answer.result().usage) > 0
  const budget = yield* CallBudget
  const call = (asking: Parameters<typeof stream<NotBegun>>[1]) =>
    stream(question.request, asking).pipe(
      Stream.runForEachArray((events) => {
        const told: Array<RunEvent> = []
        for (const event of events) {
          const delta = answer.take(event)
          if (answer.length() > room)
            return Effect.andThen(tell(told), Effect.fail(outputExceeded(maxOutputLength)))
          if (answer.calls() > maxSteps)
            return Effect.andThen(tell(told), Effect.fail(stepsExceeded(maxSteps)))
          if (delta !== "" && !isHeld) told.push(responding(messageId, delta))
        }
        return tell(told)
      }),
      Effect.timeoutOrElse({
        duration: modelTimeoutMillis,
        orElse: () => Effect.fail(tooSlow("model_time", "the model", modelTimeoutMillis))
      }),
      Effect.as(undefined),
      Effect.catchTag("InferenceError", (failure) =>
        failure.reason === "truncated" ? Effect.succeed(failure.error) : Effect.fail(failure)
      ),
      Spans.asking(asked, question.request, answer.result)
    )
  const broken = yield* budget.during(question, isCounted, call)
  const rest = answer.rest()
  if (rest !== "" && !isHeld) yield* emit(responding(messageId, rest))
  const { reasoning, text, toolCalls, ...result } = answer.result()
  const { usage = noUsage } = result
  const truncated =
    broken ??
    result.truncated ??
    (result.usage === undefined ? "the answer of the model was cut off" : undefined)
  const counted = { type: "model" as const, text, usage, costNanos: costOf(result.usage, pricing) }
  const step =
    truncated === undefined
      ? { ...counted, toolCalls, ...(reasoning !== undefined && { reasoning }) }
      : { ...counted, toolCalls: [], truncated }
  return { answeredBy, step }
})

/** What servers that do not count say is nothing. */
const tokensOf = ({ inputTokens, outputTokens }: Usage = noUsage): number => inputTokens + outputTokens
