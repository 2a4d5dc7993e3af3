/** How deep a body may be nested, the body itself counted, and how many keys one object of it may have. */
export const mostLevels = 32
export const mostKeys = 1_000

/**
 * How many values a body may have in all. Without it 1 MiB of small objects, each with a key of its own, held up
 * everybody for 60 ms while it was parsed; 16 KiB, as much as any field that is no text may have, has 8,192 at most.
 */
export const mostValues = 10_000

const decimals = new Intl.NumberFormat("en")
const tooDeep = `must be nested less deep: a body may have ${mostLevels} levels`
const tooManyKeys = `must have at most ${decimals.format(mostKeys)} keys in one object`
const tooManyValues = `must have fewer values: a body may have ${decimals.format(mostValues)} in all`

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openArray = 0x5b
const backslash = 0x5c
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/**
 * What makes the body of a request, JSON in UTF-8, costly to parse (CONTRACT.md section 10), in a sentence that names
 * the field; undefined where nothing does. One pass that ends where a limit is passed, in about 1 ms a MiB. Whether
 * it is JSON at all is left to the parser; keys count as they are written, also those that are there twice.
 */
export const jsonProblem = (json: Uint8Array): string | undefined => {
  const keys = new Uint32Array(mostLevels + 1)
  let depth = 0
  let values = 1
  // Where the last text of the body itself is, and the key that what is read now stands under.
  let text = 0
  let end = 0
  let field: readonly [from: number, to: number] | undefined
  const problem = (what: string) => `${nameOf(json, field)}: ${what}`

  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case quote: {
        const from = at
        at = endOfText(json, at)
        if (depth === 1) {
          text = from
          end = at
        }
        break
      }
      case openObject:
      case openArray:
        if (++depth > mostLevels) return problem(tooDeep)
        keys[depth] = 0
        if (!isClosed(json, at + 1)) values++
        break
      case closeObject:
      case closeArray:
        if (depth > 0) depth--
        break
      case colon:
        if (depth === 1) field = [text, end]
        keys[depth] = (keys[depth] ?? 0) + 1
        if ((keys[depth] ?? 0) > mostKeys) return depth === 1 ? `body: ${tooManyKeys}` : problem(tooManyKeys)
        break
      case comma:
        values++
        break
    }
    if (values > mostValues) return problem(tooManyValues)
  }
  return undefined
}

/** Where the quote is that ends the text that begins at `from`, or the end of what is not JSON. */
const endOfText = (json: Uint8Array, from: number): number => {
  let at = from + 1
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}

/** Whether what was just opened is empty. */
const isClosed = (json: Uint8Array, from: number): boolean => {
  let at = from
  while (isSpace(json[at])) at++
  return json[at] === closeArray || json[at] === closeObject
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const longestName = 100

/** The field as people write it; what is too long or odd to be one is the body's own fault. */
const nameOf = (json: Uint8Array, field: readonly [from: number, to: number] | undefined): string => {
  if (field === undefined || field[1] - field[0] > longestName) return "body"
  const name = new TextDecoder().decode(json.subarray(field[0] + 1, field[1]))
  return /^[\w.-]+$/u.test(name) ? name : "body"
}
