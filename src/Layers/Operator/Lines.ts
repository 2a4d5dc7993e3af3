import type { Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"

/** More than any row of the service can be. */
const longest = 64 * 1024 * 1024

/** The lines of a text that is read as it is needed; the last one may be without its end. */
export const linesOf = async function* (input: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8")
  let parts: Array<string> = []
  let length = 0
  for await (const chunk of input) {
    const pieces = decoder.write(chunk as Buffer).split("\n")
    const last = pieces.pop() ?? ""
    for (const piece of pieces) {
      yield parts.join("") + piece
      parts = []
      length = 0
    }
    parts.push(last)
    length += last.length
    if (length > longest) throw new Error(`a line is longer than ${longest} characters`)
  }
  const rest = parts.join("") + decoder.end()
  if (rest !== "") yield rest
}
