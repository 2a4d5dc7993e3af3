import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Stream from "effect/Stream"
import { errorEvent } from "../../Schemas/ChatEvent.ts"
import type { NumberedEvent } from "../../Schemas/RunEvent.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"

const silenceMillis = 10_000
const utf8 = new TextEncoder()
const comment = utf8.encode(":\n\n")

/**
 * Frames events as Server-Sent Events with their ids and a comment after every 10 s of silence.
 * Events that are ready together go out in one write. A defect ends the stream with an `error` event
 * that says nothing of the cause, and has the id of the event before it so that none is passed over
 * (CONTRACT.md section 7).
 */
export const eventStream = (events: Stream.Stream<NumberedEvent>) =>
  answer(Stream.suspend(() => frames(events, 0)))

/**
 * The same for who goes on behind the event `after`. It begins with a comment: the head of an answer goes out
 * with its first byte, and an event may be far.
 */
export const resumedEventStream = (events: Stream.Stream<NumberedEvent>, after: number) =>
  answer(
    Stream.concat(
      Stream.succeed(comment),
      Stream.suspend(() => frames(events, after))
    )
  )

const answer = (body: Stream.Stream<Uint8Array>) =>
  HttpApiSchema.withHeaders({
    body,
    headers: { "cache-control": "no-cache" as const, "x-accel-buffering": "no" as const }
  })

const frames = (events: Stream.Stream<NumberedEvent>, after: number): Stream.Stream<Uint8Array> => {
  let lastId = after
  let lastMillis: number | undefined

  const frame = ({ event: { data, event }, id }: NumberedEvent) => {
    lastId = id
    return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
  }

  const silence: Effect.Effect<Uint8Array> = Effect.gen(function* () {
    lastMillis ??= yield* monotonicMillis
    while (true) {
      const left = lastMillis + silenceMillis - (yield* monotonicMillis)
      if (left <= 0) {
        lastMillis = undefined
        return comment
      }
      yield* Effect.sleep(left)
    }
  })

  return events.pipe(
    Stream.mapArrayEffect((chunk) =>
      Effect.map(monotonicMillis, (at) => {
        lastMillis = at
        return [utf8.encode(chunk.map(frame).join(""))] as const
      })
    ),
    Stream.catchCause((cause) =>
      Stream.fromEffect(
        Effect.as(
          Effect.logError("a chat stream failed", cause),
          utf8.encode(frame({ id: lastId, event: errorEvent("internal_error", "internal error") }))
        )
      )
    ),
    Stream.merge(Stream.fromEffectRepeat(silence), { haltStrategy: "left" })
  )
}
