import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { errorCodeHeader } from "../../../../Api/Errors.ts"
import {
  type AnswerEnd,
  type AnswerHead,
  chunksOf,
  completion,
  type FinishReason
} from "../../../../Schemas/OpenAi/CompletionAnswer.ts"
import { completionOf, headOf } from "../../../../Schemas/OpenAi/CompletionRequest.ts"
import { problemOf, statusOfFailure } from "../../../../Schemas/OpenAi/Problem.ts"
import { isEnd, type NumberedEvent, type RunEvent } from "../../../../Schemas/RunEvent.ts"
import { nothingToldOn, type TurnTold, toldOn } from "../../../../Schemas/TurnTold.ts"
import { noUsage } from "../../../../Schemas/Usage.ts"
import { Chat } from "../../../../Services/Chat.ts"
import { monotonicMillis } from "../../../../Services/CurrentTime.ts"
import * as RequestFacts from "../../../../Services/RequestFacts.ts"
import { Usage } from "../../../../Services/Usage.ts"
import { Workplace } from "../../../../Services/Workplace.ts"
import { answer, framed } from "../../EventStream.ts"
import type { BegunTurn, TurnRequest } from "../../TurnFace.ts"

/**
 * `POST /v1/chat/completions` (CONTRACT.md section 14): the caller has the conversation, and a turn answers it that no list
 * shows. Who goes away loses nothing: the turn ends all the same, and the request again finds it.
 */
export const make = Effect.gen(function* () {
  const chat = yield* Chat
  const usage = yield* Usage
  const workplace = yield* Workplace

  /** With what it took, as far as anybody knows. */
  const endOf = (turn: BegunTurn, told: TurnTold, last: RunEvent | undefined) =>
    Effect.gen(function* () {
      const ending = endingOf(told, last)
      if ("code" in ending) return ending
      const counted = yield* Effect.option(usage.ofRun(turn.caller, turn.turnId))
      const spent = counted._tag === "Some" ? counted.value : usageOf(last)
      return { ...ending, usage: spent } satisfies AnswerEnd
    })

  return {
    send: Effect.fnUntraced(function* (caller: BegunTurn["caller"], request: TurnRequest) {
      const { content, given, model } = yield* Effect.fromResult(completionOf(request.payload))
      const { agent, workspaceId } = yield* workplace.resolve(caller, {
        header: request.workspaceHeader,
        named: model
      })
      return yield* chat.send(caller, {
        workspaceId,
        agentId: agent?.id ?? null,
        content,
        given,
        isHidden: true
      })
    }),
    answer: (turn: BegunTurn, { payload }: TurnRequest) =>
      Effect.suspend(() => {
        const { includesUsage, isStream, model } = Result.getOrThrow(headOf(payload))
        const head = { turnId: turn.turnId, model }
        return isStream ? streamed(turn, head, includesUsage, endOf) : whole(turn, head, endOf)
      })
  }
})

type EndOf = (
  turn: BegunTurn,
  told: TurnTold,
  last: RunEvent | undefined
) => Effect.Effect<AnswerEnd | Failure>

/** The answer once it is whole. */
const whole = Effect.fnUntraced(function* (turn: BegunTurn, head: AnswerHead, endOf: EndOf) {
  let told = nothingToldOn
  let last: RunEvent | undefined
  const since = yield* monotonicMillis
  yield* Stream.runForEachArray(turn.events, (batch) =>
    Effect.sync(() => {
      for (const event of batch) {
        told = toldOn(told, event)[0]
        if (isEnd(event.event)) last = event.event
      }
    })
  )
  yield* RequestFacts.tell({ waitedMillis: (yield* monotonicMillis) - since })
  const end = yield* endOf(turn, { ...told, isBroken: false }, last)
  return "code" in end ? refusal(end) : HttpServerResponse.jsonUnsafe(completion(head, end))
})

const refusal = ({ code, error }: Failure) => {
  const status = statusOfFailure(code)
  const isPassing = status === 503 || status === 429
  return HttpServerResponse.jsonUnsafe(
    { error },
    { status, headers: { [errorCodeHeader]: code, ...(isPassing && { "retry-after": "1" }) } }
  )
}

/** The answer as it is made; what goes wrong once it has begun ends it with an error. */
const streamed = (turn: BegunTurn, head: AnswerHead, includesUsage: boolean, endOf: EndOf) =>
  answer((context) =>
    Stream.suspend(() => {
      const chunks = chunksOf(head, includesUsage)
      let told = nothingToldOn
      let isBegun = false
      let last: RunEvent | undefined
      const frame = (event: NumberedEvent): string => {
        const [now, more] = toldOn(told, event)
        told = now
        if (isEnd(event.event)) last = event.event
        const first = isBegun ? "" : chunks.first()
        isBegun = true
        return first + chunks.text(more)
      }
      const ending = Effect.suspend(() => endOf(turn, told, last)).pipe(
        Effect.map((end) =>
          Buffer.from("code" in end ? chunks.failed(problemOfFailure(end)) : chunks.end(end))
        ),
        Effect.provideContext(context)
      )
      return framed(turn.events, () => ({ frame, broken: () => "" }), context).pipe(
        Stream.takeUntil(() => told.isBroken),
        Stream.concat(Stream.fromEffect(ending))
      )
    })
  )

const problemOfFailure = ({ code, error }: Failure) => problemOf(statusOfFailure(code), code, error)

/** A turn that gave no answer, in our words. */
interface Failure {
  readonly code: string
  readonly error: string
}

const cutOff: Readonly<Record<string, FinishReason>> = {
  inference_truncated: "length",
  inference_content_filter: "content_filter"
}

const begunAnew = {
  code: "answer_begun_anew",
  error: "the node was lost on which the answer was made, and another makes it anew: ask again"
}

/** How the answer ends by the last event; none where the events could not be read to their end. */
const endingOf = (told: TurnTold, last: RunEvent | undefined): Omit<AnswerEnd, "usage"> | Failure => {
  if (told.isBroken) return begunAnew
  const calls = Array.from(told.calls.values())
  if (last?.event === "done")
    return { text: told.text, calls, reason: calls.length > 0 ? "tool_calls" : "stop" }
  if (last?.event !== "error") return { code: "internal_error", error: "internal error" }
  const { code, error } = last.data
  const reason = cutOff[code]
  return reason === undefined ? { code, error } : { text: told.text, calls: [], reason }
}

const usageOf = (last: RunEvent | undefined) => (last?.event === "done" ? last.data.usage : noUsage)
