import { createInterface } from "node:readline"
import * as Effect from "effect/Effect"

/** The most that is read of standard input as one text. */
const mostBytes = 1024 * 1024

/** Whether somebody sits there who can be asked. */
export const isThere = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

/**
 * The lines of standard input, one after the other; none behind its end. The terminal keeps its own way with lines and
 * with Ctrl-C.
 */
export const lines = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => createInterface({ input: process.stdin, terminal: false })),
    (reader) =>
      Effect.sync(() => {
        reader.close()
        process.stdin.unref?.()
      })
  ),
  (reader) => {
    const iterator = reader[Symbol.asyncIterator]()
    return Effect.promise(async () => {
      const { done, value } = await iterator.next()
      return done === true ? undefined : value
    })
  }
)

export type Lines = Effect.Success<typeof lines>

/** All of standard input as one text; none where it is longer than any prompt. */
export const all = Effect.promise(async () => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > mostBytes) return undefined
  }
  return Buffer.concat(chunks).toString("utf8")
})
