import type { PlainText } from "./PlainText.ts"
import { isDue, nextTurn } from "./Turns.ts"

const mebibyte = 1024 * 1024
/** No answer of a model comes near it. */
const mostBytes = 32 * mebibyte
/** What a refusal has to say is in its beginning. */
const mostErrorBytes = 64 * 1024
/** What is handed on at once: a few dozen events at most. */
const sliceBytes = 2048

export const tooLarge = `the model provider sent more than ${mostBytes / mebibyte} MiB`

class TooLarge extends Error {}

/** Whether a request failed for the size of its answer. */
export const isTooLarge = (failure: unknown): boolean => {
  let cause = failure
  for (let depth = 0; depth < 10 && cause instanceof Error; depth++) {
    if (cause instanceof TooLarge) return true
    cause = cause.cause
  }
  return false
}

export interface Reader {
  readonly heard: (lines: number) => void
  /** Takes its part of an answer, which is no refusal. */
  readonly plain?: PlainText | undefined
}

/**
 * The same `fetch` with answers of a bounded size, counted as they are read, after decompression: beyond 32
 * MiB an answer fails, and what a refusal says beyond 64 KiB is left out. `heard` is told of everything that
 * arrives, also of what the reader does not make a part of the answer, with how many lines it ends. However fast it
 * arrives, the rest of the process has its turns in between.
 */
export const metered =
  (fetch: typeof globalThis.fetch, reader: Reader): typeof globalThis.fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    reader.heard(0)
    if (response.body === null) return response
    const { headers, ok, status, statusText } = response
    const body = response.body.getReader()
    return new Response(sliced(body, ok, ok ? reader : { heard: reader.heard }, init?.signal), {
      status,
      statusText,
      headers
    })
  }

/** Takes of each chunk what there is room for. */
const makeRoom = (isAnswer: boolean) => {
  let room = isAnswer ? mostBytes : mostErrorBytes
  let isOver = false
  return {
    isOver: () => isOver,
    take: (chunk: Uint8Array): Uint8Array => {
      isOver = chunk.byteLength > room
      const taken = isOver ? chunk.subarray(0, room) : chunk
      room -= taken.byteLength
      return taken
    }
  }
}

/** In pieces that are read one by one, so that a turn can end between any two of them. */
const sliced = (
  body: ReadableStreamDefaultReader<Uint8Array>,
  isAnswer: boolean,
  { heard, plain }: Reader,
  signal: AbortSignal | null | undefined
): ReadableStream<Uint8Array> => {
  const room = makeRoom(isAnswer)
  let rest: Uint8Array = nothing
  const tooMuch = () => {
    const over = new TooLarge(tooLarge)
    body.cancel(over).catch(() => undefined)
    if (isAnswer) throw over
  }
  return new ReadableStream<Uint8Array>(
    {
      cancel: (reason) => body.cancel(reason),
      pull: async (controller) => {
        while (true) {
          if (isDue(Math.min(rest.byteLength, sliceBytes))) await nextTurn()
          signal?.throwIfAborted()
          if (rest.byteLength === 0) {
            const chunk = room.isOver() ? undefined : (await body.read()).value
            if (chunk === undefined) {
              const held = plain?.rest()
              if (held !== undefined && held.byteLength > 0) controller.enqueue(held)
              return controller.close()
            }
            rest = room.take(chunk)
            if (room.isOver()) tooMuch()
            if (rest.byteLength === 0) continue
          }
          const bytes = rest.byteLength <= sliceBytes ? rest : rest.subarray(0, sliceBytes)
          rest = bytes === rest ? nothing : rest.subarray(sliceBytes)
          heard(linesOf(bytes))
          const left = plain === undefined ? bytes : plain.pass(bytes)
          if (left.byteLength > 0) return controller.enqueue(left)
          const full = plain?.room()
          if (full !== undefined) await full
        }
      }
    },
    { highWaterMark: 0 }
  )
}

const nothing = new Uint8Array()
const newline = 10

const linesOf = (bytes: Uint8Array): number => {
  let lines = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}
