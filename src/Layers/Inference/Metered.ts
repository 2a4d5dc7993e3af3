const mebibyte = 1024 * 1024
/** No answer of a model comes near it. */
const mostBytes = 32 * mebibyte
/** What a refusal has to say is in its beginning. */
const mostErrorBytes = 64 * 1024

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

/**
 * The same `fetch` with answers of a bounded size, counted as they are read, after decompression: beyond 32
 * MiB an answer fails, and what a refusal says beyond 64 KiB is left out. `heard` is told of everything that
 * arrives, also of what the reader does not make a part of the answer.
 */
export const metered =
  (fetch: typeof globalThis.fetch, heard: () => void): typeof globalThis.fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    heard()
    if (response.body === null) return response
    let room = response.ok ? mostBytes : mostErrorBytes
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        heard()
        if (chunk.byteLength <= room) {
          room -= chunk.byteLength
          return controller.enqueue(chunk)
        }
        if (response.ok) return controller.error(new TooLarge(tooLarge))
        controller.enqueue(chunk.subarray(0, room))
        controller.terminate()
      }
    })
    return new Response(response.body.pipeThrough(counting), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers
    })
  }
