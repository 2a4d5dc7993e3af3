import { at, type Source, type Sources } from "./Sources.ts"

/** A file (`line` is 1) or the body of a generator function that has more lines than it may. */
interface Oversize {
  readonly file: string
  readonly line: number
  readonly lines: number
  readonly rule: string
}

const mostLines = { file: 300, generator: 80 }

const linesOf = (text: string): number => text.split("\n").length

const oversizeFile = ({ file, text }: Source): ReadonlyArray<Oversize> => {
  const lines = linesOf(text.trimEnd())
  return lines > mostLines.file ? [{ file, line: 1, lines, rule: "a file has at most 300 lines" }] : []
}

/** Every generator function, also a method and one within another: the lines below its brace, to the closing one. */
const oversizeGenerators = ({ file, nodes, text }: Source): ReadonlyArray<Oversize> =>
  nodes
    .filter(({ generator }) => generator === true)
    .flatMap((node) => at(node, "body"))
    .flatMap(({ end, start }) => {
      const line = linesOf(text.slice(0, Number(start)))
      const lines = linesOf(text.slice(Number(start), Number(end))) - 1
      const rule = "the body of a generator has at most 80 lines"
      return lines > mostLines.generator ? [{ file, line, lines, rule }] : []
    })

/** What is too long to be read as one thing: its parts need names. */
export const oversizes = (sources: Sources): ReadonlyArray<Oversize> =>
  [...sources.values()].flatMap((source) => [...oversizeFile(source), ...oversizeGenerators(source)])
