import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { eventStreamType } from "../../Api/EventStream.ts"
import { errorEvent } from "../../Schemas/ChatEvent.ts"
import type { NumberedEvent } from "../../Schemas/RunEvent.ts"
import { relayed, within } from "../../Services/Relay.ts"
import { type Heard, whenSilent } from "../../Services/Silence.ts"

const silenceMillis = 10_000
const comment = ":\n\n"
const silence = Symbol("silence")
type Silence = typeof silence

/** How the events of a stream are written. */
export interface Framing<A = NumberedEvent> {
  /** Of one event; may be nothing. */
  readonly frame: (told: A) => string
  /** What a defect ends the stream with. It says nothing of the cause. */
  readonly broken: () => string
}

/**
 * Frames events as Server-Sent Events with their ids and a comment after every 10 s of silence.
 * Events that are ready together go out in one write. A defect ends the stream with an `error` event
 * that says nothing of the cause, and has the id of the event before it so that none is passed over
 * (CONTRACT.md section 7).
 */
export const eventStream = (
  events: Stream.Stream<NumberedEvent>,
  context: Context.Context<never> = Context.empty()
): Stream.Stream<Uint8Array> => framed(events, () => numbered(0), context)

/**
 * The same for who goes on behind the event `after`. It begins with a comment: the head of an answer goes out
 * with its first byte, and an event may be far.
 */
export const resumedEventStream = (
  events: Stream.Stream<NumberedEvent>,
  after: number,
  context: Context.Context<never> = Context.empty()
): Stream.Stream<Uint8Array> =>
  Stream.concat(
    Stream.succeed(Buffer.from(comment)),
    framed(events, () => numbered(after), context)
  )

/**
 * What is read and logged for it is so in the context of its request, given once: what the package would encode gets its
 * context anew with each piece.
 */
export const answer = (body: (context: Context.Context<never>) => Stream.Stream<Uint8Array>) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.succeed(
      HttpServerResponse.stream(body(context), {
        contentType: eventStreamType,
        headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
      })
    )
  )

const numbered = (after: number): Framing => {
  let lastId = after
  const frame = ({ event: { data, event }, id }: NumberedEvent) => {
    lastId = id
    return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
  }
  return { frame, broken: () => frame({ id: lastId, event: errorEvent("internal_error", "internal error") }) }
}

/** The same as another protocol writes its events: each reading of the stream is framed anew. */
export const framed = <A = NumberedEvent>(
  events: Stream.Stream<A>,
  framing: () => Framing<A>,
  context: Context.Context<never>
): Stream.Stream<Uint8Array> =>
  Stream.suspend(() => {
    const { broken, frame } = framing()
    const failed = (cause: Cause.Cause<never>) =>
      Effect.as(
        Effect.provideContext(Effect.logError("a chat stream failed", cause), context),
        Buffer.from(broken())
      )
    return Stream.unwrap(
      Effect.clockWith((clock) => {
        let heard: Heard["heard"] | undefined
        const told = relayed<A, Silence>(
          within(events, context),
          ({ say }) =>
            Effect.acquireRelease(
              Effect.sync(() => {
                const waiting = whenSilent(clock, silenceMillis, () => say(silence))
                heard = waiting.heard
                return waiting
              }),
              ({ leave }) => Effect.sync(leave)
            ),
          () => heard?.()
        )
        return Effect.succeed(
          told.pipe(
            Stream.mapArray((batch) => {
              let text = ""
              for (const event of batch) text += event === silence ? comment : frame(event)
              return [Buffer.from(text)]
            }),
            Stream.catchCause((cause) => Stream.fromEffect(failed(cause)))
          )
        )
      })
    )
  })
