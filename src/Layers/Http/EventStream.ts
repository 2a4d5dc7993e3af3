import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Stream from "effect/Stream"
import { errorEvent } from "../../Schemas/ChatEvent.ts"
import type { NumberedEvent } from "../../Schemas/RunEvent.ts"
import { relayed } from "../../Services/Relay.ts"
import { type Heard, whenSilent } from "../../Services/Silence.ts"

const silenceMillis = 10_000
const comment = Buffer.from(":\n\n")

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

  const frame = ({ event: { data, event }, id }: NumberedEvent) => {
    lastId = id
    return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
  }
  const broken = (cause: Cause.Cause<never>) =>
    Effect.as(
      Effect.logError("a chat stream failed", cause),
      Buffer.from(frame({ id: lastId, event: errorEvent("internal_error", "internal error") }))
    )

  return Stream.unwrap(
    Effect.clockWith((clock) => {
      let silence: Heard | undefined
      const framed = events.pipe(
        Stream.mapArray((chunk) => {
          silence?.heard()
          let text = ""
          for (const event of chunk) text += frame(event)
          return [Buffer.from(text)]
        }),
        Stream.catchCause((cause) => Stream.fromEffect(broken(cause)))
      )
      return Effect.succeed(
        relayed<Uint8Array>(framed, ({ say }) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              silence = whenSilent(clock, silenceMillis, () => say(comment))
              return silence
            }),
            ({ leave }) => Effect.sync(leave)
          )
        )
      )
    })
  )
}
