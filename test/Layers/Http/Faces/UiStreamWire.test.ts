import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { type Piece, response } from "../../../../src/Layers/Http/Faces/UiStream/Wire.ts"

const piece = (delta: string, isLost = false): Piece => ({
  chunks: delta === "" ? [] : [{ type: "text-delta", id: "t", delta }],
  isLost
})

/** What comes of a stream, and whether it ends as a whole. */
const read = Effect.fnUntraced(function* (...pieces: ReadonlyArray<Piece>) {
  const answer = HttpServerResponse.toWeb(yield* response(Stream.fromIterable(pieces)))
  return yield* Effect.promise(async () => {
    const seen: Array<string> = []
    const decoder = new TextDecoder()
    try {
      for await (const bytes of answer.body ?? []) seen.push(decoder.decode(bytes))
      return { text: seen.join(""), isWhole: true }
    } catch {
      return { text: seen.join(""), isWhole: false }
    }
  })
})

const hello = 'data: {"type":"text-delta","id":"t","delta":"hello"}\n\n'

describe("the wire of UI message streams", () => {
  it.effect("ends what is over, as the protocol says", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read(piece("hello")), { text: `${hello}data: [DONE]\n\n`, isWhole: true })
    })
  )

  it.effect("cuts off what goes on elsewhere, behind what was told", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read(piece("hello"), piece("", true)), { text: hello, isWhole: false })
      assert.deepStrictEqual(yield* read(piece("hello", true)), { text: hello, isWhole: false })
    })
  )
})
