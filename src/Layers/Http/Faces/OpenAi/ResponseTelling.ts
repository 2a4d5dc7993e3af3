import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { errorCodeHeader } from "../../../../Api/Errors.ts"
import type { Unavailable } from "../../../../Schemas/Errors.ts"
import { statusOfFailure } from "../../../../Schemas/OpenAi/Problem.ts"
import type { ResponseKey } from "../../../../Schemas/OpenAi/ResponseId.ts"
import {
  brokenEvent,
  type ResponseFacts,
  type ResponseState,
  toResponse
} from "../../../../Schemas/OpenAi/ResponseObject.ts"
import type { ResponseEvent } from "../../../../Schemas/OpenAi/ResponseTold.ts"
import { type NumberedEvent, stride } from "../../../../Schemas/RunEvent.ts"
import { type TurnDetail, Turns } from "../../../../Services/Turns.ts"
import type { BegunTurn } from "../../TurnFace.ts"
import { factsOf, foldOf, makeReading } from "./ResponseReading.ts"

/** Tells a response out of the events of its turn, as they come. */
export const makeTelling = Effect.gen(function* () {
  const reading = yield* makeReading
  const turns = yield* Turns

  /**
   * Follows the events of a turn as those of a response. Where another execution goes on with it, what counts of what was told
   * before is read again: some of it may be void.
   */
  const follow = (turn: BegunTurn, key: ResponseKey, detail: TurnDetail) => {
    let fold = foldOf(key, detail)
    let range = 0
    return {
      fold: () => fold,
      take: (event: NumberedEvent): Effect.Effect<ReadonlyArray<ResponseEvent>, Unavailable> =>
        Effect.suspend(() => {
          const now = Math.floor(event.id / stride)
          if (now <= range) return Effect.succeed(fold.take(event))
          range = now
          if (fold.end() !== undefined) return Effect.succeed([])
          return Effect.map(reading.told(key, detail, event.id), (found) => {
            fold = found
            return fold.take(event)
          })
        }),
      state: Effect.suspend(() =>
        Effect.flatMap(
          turns.get(turn.caller, key.turnId).pipe(Effect.orElseSucceed(() => detail)),
          (latest) => reading.stateOf(turn.caller, latest, fold)
        )
      )
    }
  }

  return {
    /** The response once it has ended. */
    collect: Effect.fnUntraced(function* (turn: BegunTurn, key: ResponseKey, detail: TurnDetail) {
      const following = follow(turn, key, detail)
      yield* turn.events.pipe(
        Stream.mapArrayEffect((batch) =>
          Effect.as(Effect.forEach(batch, following.take, { discard: true }), [undefined] as const)
        ),
        Stream.takeUntil(() => following.fold().end() !== undefined),
        Stream.runDrain
      )
      const end = following.fold().end()
      if (end === undefined || end.status === "broken") return refusal(end)
      const state = yield* following.state
      return HttpServerResponse.jsonUnsafe(toResponse(factsOf(key, detail), state))
    }),
    /** Its events behind the one of this number, as lines of an event stream. */
    lines: (turn: BegunTurn, key: ResponseKey, detail: TurnDetail, after: number) => {
      const facts = factsOf(key, detail)
      const following = follow(turn, key, detail)
      const writing = makeWriting(facts, after)
      const take = Effect.fnUntraced(function* (event: NumberedEvent) {
        const told = yield* following.take(event)
        const end = following.fold().end()
        const state = told.length > 0 && end !== undefined ? yield* following.state : undefined
        let lines = ""
        for (const one of told) lines += writing.write(one, state)
        if (end?.status === "broken") lines += writing.broken(end.code, end.error)
        return lines
      })
      return {
        broken: () => writing.broken("internal_error", "internal error"),
        lines: turn.events.pipe(
          Stream.mapArrayEffect((batch) =>
            Effect.map(Effect.forEach(batch, take), (lines) => [lines.join("")] as const)
          ),
          Stream.catchTag("Unavailable", () =>
            Stream.sync(() =>
              writing.broken("unavailable", "the database can't be reached; take the events up again")
            )
          ),
          Stream.takeUntil(() => following.fold().end() !== undefined)
        )
      }
    }
  }
})

/** Writes each event once: one that takes a turn over tells again what nobody may have kept. */
const makeWriting = (facts: ResponseFacts, after: number) => {
  const written = new Set<string>()
  let last = Math.max(after, 0)
  const line = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

  const lifeOf = (type: string, state: ResponseState | undefined) => {
    if (type !== "response.created" && type !== "response.queued" && type !== "response.in_progress") {
      return state ?? { status: "in_progress" as const, output: [] }
    }
    const isQueued = type !== "response.in_progress" && facts.input?.echo?.background === true
    return { status: isQueued ? ("queued" as const) : ("in_progress" as const), output: [] }
  }

  return {
    write: ({ item, sequence, type }: ResponseEvent, state: ResponseState | undefined): string => {
      if (sequence <= after) return ""
      const isDelta = type === "response.output_text.delta"
      const mark = `${type} ${item?.index}`
      if (!isDelta && written.has(mark)) return ""
      if (!isDelta) written.add(mark)
      last = sequence
      const more =
        item === undefined
          ? { response: toResponse(facts, lifeOf(type, state)) }
          : { output_index: item.index, ...item.more }
      return line(type, { type, sequence_number: sequence, ...more })
    },
    broken: (code: string, error: string): string => line("error", brokenEvent(last, code, error))
  }
}

/** Who waits for the whole answer is told why there is none, and may ask again. */
const refusal = (end: { readonly code?: string; readonly error?: string } | undefined) => {
  const { code = "internal_error", error = "internal error" } = end ?? {}
  const status = statusOfFailure(code)
  return HttpServerResponse.jsonUnsafe(
    { error },
    { status, headers: { [errorCodeHeader]: code, ...(status === 503 && { "retry-after": "1" }) } }
  )
}
