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
    const source = bounded(response.body.getReader(), response.ok)
    return new Response(sliced(source, response.ok ? reader : { heard: reader.heard }, init?.signal), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers
    })
  }

interface Source {
  readonly read: () => Promise<Uint8Array | undefined>
  readonly cancel: (reason: unknown) => Promise<void>
}

const bounded = (reader: ReadableStreamDefaultReader<Uint8Array>, isAnswer: boolean): Source => {
  let room = isAnswer ? mostBytes : mostErrorBytes
  let isOver = false
  const cancel = (reason: unknown) => reader.cancel(reason)
  return {
    cancel,
    read: async () => {
      if (isOver) return undefined
      const { done, value } = await reader.read()
      if (done) return undefined
      if (value.byteLength <= room) {
        room -= value.byteLength
        return value
      }
      isOver = true
      const over = new TooLarge(tooLarge)
      cancel(over).catch(() => undefined)
      if (isAnswer) throw over
      return value.subarray(0, room)
    }
  }
}

/** In pieces that are read one by one, so that a turn can end between any two of them. */
const sliced = (
  { cancel, read }: Source,
  { heard, plain }: Reader,
  signal: AbortSignal | null | undefined
): ReadableStream<Uint8Array> => {
  let rest: Uint8Array = new Uint8Array()
  const slice = async (): Promise<Uint8Array | undefined> => {
    if (rest.byteLength === 0) {
      const chunk = await read()
      if (chunk === undefined) return undefined
      rest = chunk
    }
    const slice = rest.subarray(0, sliceBytes)
    rest = rest.subarray(sliceBytes)
    return slice
  }
  return new ReadableStream<Uint8Array>(
    {
      cancel,
      pull: async (controller) => {
        while (true) {
          if (isDue(Math.min(rest.byteLength, sliceBytes))) await nextTurn()
          signal?.throwIfAborted()
          const bytes = await slice()
          if (bytes === undefined) {
            const held = plain?.rest()
            if (held !== undefined && held.byteLength > 0) controller.enqueue(held)
            return controller.close()
          }
          if (bytes.byteLength === 0) continue
          heard(linesOf(bytes))
          const left = plain === undefined ? bytes : plain.pass(bytes)
          if (left.byteLength > 0) return controller.enqueue(left)
          await plain?.room()
        }
      }
    },
    { highWaterMark: 0 }
  )
}

const newline = 10

const linesOf = (bytes: Uint8Array): number => {
  let lines = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}
