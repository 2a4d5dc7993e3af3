/** A piece of a text: words, or code between fences. */
export interface Block {
  readonly type: "text" | "code"
  readonly text: string
  /** What stands behind the opening fence. */
  readonly language: string
}

const opening = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/u

const isClosing = (line: string, fence: string): boolean => {
  const trimmed = line.trim()
  return trimmed.length >= fence.length && trimmed === (fence[0] ?? "").repeat(trimmed.length)
}

/** The blocks of a text, in order. Code that is not closed, such as what still comes in, goes to the end. */
export const blocksOf = (text: string): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  let lines: Array<string> = []
  let fence: string | undefined
  let language = ""
  const close = (type: Block["type"]) => {
    const joined = lines.join("\n")
    if (type === "code" || joined.trim() !== "") blocks.push({ type, text: joined, language })
    lines = []
    language = ""
  }
  for (const line of text.split("\n")) {
    const found = fence === undefined ? opening.exec(line) : null
    if (fence !== undefined && isClosing(line, fence)) {
      close("code")
      fence = undefined
    } else if (found !== null) {
      close("text")
      fence = found[1]
      language = found[2] ?? ""
    } else {
      lines.push(line)
    }
  }
  if (fence !== undefined || lines.length > 0) close(fence === undefined ? "text" : "code")
  return blocks
}
