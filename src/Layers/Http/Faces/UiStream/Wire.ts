import { Buffer } from "node:buffer"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { eventStreamType } from "../../../../Api/EventStream.ts"
import type { Chunk } from "../../../../Schemas/UiStream/Chunks.ts"
import { framed } from "../../EventStream.ts"

const frame = (chunks: ReadonlyArray<Chunk>): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")

const framing = { frame, broken: () => frame([{ type: "error", errorText: "internal error" }]) }

const headers = {
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
  "x-vercel-ai-ui-message-stream": "v1"
}

/** Chunks as the AI SDK reads them, those that are ready together in one write. */
export const response = (chunks: Stream.Stream<ReadonlyArray<Chunk>>) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.succeed(
      HttpServerResponse.stream(
        Stream.concat(
          framed(chunks, () => framing, context),
          Stream.succeed(Buffer.from("data: [DONE]\n\n"))
        ),
        { contentType: eventStreamType, headers }
      )
    )
  )
