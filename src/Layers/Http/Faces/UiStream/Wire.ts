import { Buffer } from "node:buffer"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { eventStreamType } from "../../../../Api/EventStream.ts"
import type { Chunk } from "../../../../Schemas/UiStream/Chunks.ts"
import { framed } from "../../EventStream.ts"

/** Chunks that are ready together. */
export interface Piece {
  readonly chunks: ReadonlyArray<Chunk>
  /** The turn goes on, and this reader hears no more of it: its node stops, or the database is away for long. */
  readonly isLost: boolean
}

const frame = (chunks: ReadonlyArray<Chunk>): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")

const broken = () => frame([{ type: "error", errorText: "internal error" }])

const headers = {
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
  "x-vercel-ai-ui-message-stream": "v1"
}

/**
 * Chunks as the AI SDK reads them, those that are ready together in one write. What is lost is cut off without an end:
 * `useChat` takes up again a connection that broke, and no answer that ended with an error.
 */
export const response = (pieces: Stream.Stream<Piece>) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.succeed(
      HttpServerResponse.stream(written(pieces, context), { contentType: eventStreamType, headers })
    )
  )

const written = (pieces: Stream.Stream<Piece>, context: Context.Context<never>): Stream.Stream<Uint8Array> =>
  Stream.suspend(() => {
    let isLost = false
    const take = (piece: Piece) => {
      isLost ||= piece.isLost
      return frame(piece.chunks)
    }
    return Stream.concat(
      framed(pieces, () => ({ frame: take, broken }), context),
      Stream.suspend(() =>
        isLost ? Stream.fromEffect(Effect.interrupt) : Stream.succeed(Buffer.from("data: [DONE]\n\n"))
      )
    )
  })
