import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import { type ResponseKey, responseIdOf, responseKeyOf } from "../../../../Schemas/OpenAi/ResponseId.ts"
import { toResponse } from "../../../../Schemas/OpenAi/ResponseObject.ts"
import { headOf, legOf } from "../../../../Schemas/OpenAi/ResponseRequest.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Chat } from "../../../../Services/Chat.ts"
import type { TurnDetail } from "../../../../Services/Turns.ts"
import { Turns } from "../../../../Services/Turns.ts"
import { answer, framed } from "../../EventStream.ts"
import { problemResponse } from "../../Problems.ts"
import type { BegunTurn, TurnRequest } from "../../TurnFace.ts"
import { factsOf, makeReading, responseNotFound } from "./ResponseReading.ts"
import { makeSending } from "./ResponseSending.ts"
import { makeTelling } from "./ResponseTelling.ts"

const refuse = (error: string) => Effect.fail(new InvalidInput({ error }))

const keyOrNone = (id: string): Effect.Effect<ResponseKey, typeof responseNotFound> => {
  const key = responseKeyOf(id)
  return key === undefined ? Effect.fail(responseNotFound) : Effect.succeed(key)
}

/**
 * `/v1/responses` (CONTRACT.md section 14): answers in a conversation that is stored here, each a durable turn. Who goes away
 * loses nothing: the response goes on, on whichever node, and any of them tells it again from any of its events on.
 */
export const make = Effect.gen(function* () {
  const turns = yield* Turns
  const reading = yield* makeReading
  const send = yield* makeSending
  const { collect, lines } = yield* makeTelling
  const remove = yield* makeRemoving

  const whole = (caller: Caller, key: ResponseKey, detail: TurnDetail) =>
    Effect.map(reading.read(caller, key, detail), ({ state }) =>
      HttpServerResponse.jsonUnsafe(toResponse(factsOf(key, detail), state))
    )

  const streamed = (key: ResponseKey, turn: BegunTurn, detail: TurnDetail, after: number) =>
    answer((context) => {
      const told = lines(turn, key, detail, after)
      return framed(
        told.lines.pipe(Stream.provideContext(context)),
        () => ({ frame: (line) => line, broken: told.broken }),
        context
      )
    })

  return {
    send,
    answer: (turn: BegunTurn, { payload }: TurnRequest) => {
      const { isBackground, isStream } = Result.getOrThrow(headOf(payload))
      const key = { turnId: turn.turnId, leg: legOf(payload) }
      return Effect.gen(function* () {
        const detail = yield* reading.find(turn.caller, key)
        if (isStream) return yield* streamed(key, turn, detail, -1)
        if (isBackground) return yield* whole(turn.caller, key, detail)
        return yield* collect(turn, key, detail)
      }).pipe(
        Effect.catchTags({
          NotFound: ({ error }) => Effect.succeed(problemResponse(404, {}, error)),
          Unavailable: () => Effect.succeed(problemResponse(503))
        })
      )
    },
    get: Effect.fnUntraced(function* (
      caller: Caller,
      id: string,
      query: Readonly<Record<string, string | undefined>>
    ) {
      const key = yield* keyOrNone(id)
      const { after, isStream } = yield* queryOf(query)
      const detail = yield* reading.find(caller, key)
      if (!isStream) return yield* whole(caller, key, detail)
      yield* reading.read(caller, key, detail)
      const events = yield* turns.events(caller, key.turnId, 0)
      const turn = { caller, turnId: key.turnId, events: Option.getOrElse(events, () => Stream.empty) }
      return yield* streamed(key, turn, detail, after)
    }),
    cancel: Effect.fnUntraced(function* (caller: Caller, id: string) {
      const key = yield* keyOrNone(id)
      yield* reading.read(caller, key, yield* reading.find(caller, key))
      yield* turns.cancel(caller, key.turnId).pipe(
        Effect.catchTag("RunFinished", () => refuse("response_id: the response is over")),
        Effect.catchTag("NotFound", () => Effect.fail(responseNotFound))
      )
      return yield* whole(caller, key, yield* reading.find(caller, key))
    }),
    remove: Effect.fnUntraced(function* (caller: Caller, id: string) {
      const key = yield* keyOrNone(id)
      yield* remove(caller, yield* reading.find(caller, key))
      return HttpServerResponse.jsonUnsafe({ id: responseIdOf(key), object: "response", deleted: true })
    })
  }
})

/** A response is let go with its conversation, where that has no other: of a longer one it is a part. */
const makeRemoving = Effect.gen(function* () {
  const chat = yield* Chat
  return Effect.fnUntraced(function* (caller: Caller, { conversation }: TurnDetail) {
    const { messages } = yield* chat
      .get(caller, conversation.id, { limit: 3 })
      .pipe(Effect.catchTag("NotFound", () => Effect.fail(responseNotFound)))
    if (messages.first.length > 2) {
      return yield* refuse(
        `response_id: its conversation ${conversation.id} goes on behind or before it: delete that`
      )
    }
    yield* chat
      .remove(caller, conversation.id)
      .pipe(Effect.catchTag("NotFound", () => Effect.fail(responseNotFound)))
  })
})

const queryOf = (query: Readonly<Record<string, string | undefined>>) =>
  Effect.gen(function* () {
    const stream = yield* flagOf("stream", query.stream)
    if (yield* flagOf("include_obfuscation", query.include_obfuscation)) {
      return yield* refuse("include_obfuscation: is not supported")
    }
    const after = query.starting_after
    if (after === undefined) return { isStream: stream, after: -1 }
    if (!stream) return yield* refuse("starting_after: is for streams alone")
    if (!/^\d{1,15}$/.test(after))
      return yield* refuse("starting_after: must be a whole number of at least 0")
    return { isStream: stream, after: Number(after) }
  })

const flagOf = (name: string, value: string | undefined) =>
  value === undefined || value === "false"
    ? Effect.succeed(false)
    : value === "true"
      ? Effect.succeed(true)
      : refuse(`${name}: must be true or false`)
