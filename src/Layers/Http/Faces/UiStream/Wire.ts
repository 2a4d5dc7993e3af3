import { Buffer } from "node:buffer"
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { eventStreamType } from "../../../../Api/EventStream.ts"
import type { Chunk } from "../../../../Schemas/UiStream/Chunks.ts"
import { relayed, within } from "../../../../Services/Relay.ts"
import { whenSilent } from "../../../../Services/Silence.ts"

const silenceMillis = 10_000
const comment = ":\n\n"
const end = "data: [DONE]\n\n"

/**
 * Chunks as Server-Sent Events, those that are ready together in one write, with a comment after every 10 s of silence. A
 * defect ends the stream with an error that says nothing of the cause.
 */
export const response = (chunks: Stream.Stream<ReadonlyArray<Chunk>>) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.succeed(
      HttpServerResponse.stream(framed(chunks, context), {
        contentType: eventStreamType,
        headers: {
          "cache-control": "no-cache",
          "x-accel-buffering": "no",
          "x-vercel-ai-ui-message-stream": "v1"
        }
      })
    )
  )

const framed = (chunks: Stream.Stream<ReadonlyArray<Chunk>>, context: Context.Context<never>) =>
  Stream.unwrap(
    Effect.clockWith((clock) => {
      let heard: (() => void) | undefined
      const silent = Symbol()
      const told = relayed<ReadonlyArray<Chunk>, typeof silent>(
        within(chunks, context),
        ({ say }) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              const waiting = whenSilent(clock, silenceMillis, () => say(silent))
              heard = waiting.heard
              return waiting
            }),
            ({ leave }) => Effect.sync(leave)
          ),
        () => heard?.()
      )
      return Effect.succeed(
        Stream.concat(
          Stream.catchCause(
            Stream.map(told, (said) => (said === silent ? comment : said.map(frame).join(""))),
            (cause) => Stream.fromEffect(broken(cause, context))
          ),
          Stream.succeed(end)
        ).pipe(Stream.map((text) => Buffer.from(text)))
      )
    })
  )

const frame = (chunk: Chunk): string => `data: ${JSON.stringify(chunk)}\n\n`

const broken = (cause: Cause.Cause<never>, context: Context.Context<never>) =>
  Effect.as(
    Effect.provideContext(Effect.logError("a chat stream failed", cause), context),
    frame({ type: "error", errorText: "internal error" })
  )
