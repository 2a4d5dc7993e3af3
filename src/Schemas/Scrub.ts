import type * as Schema from "effect/Schema"
import { type Automaton, automatonOf } from "./WordAutomaton.ts"

/** Shorter ones are no secrets, and would spoil ordinary words. */
export const shortestSecret = 8

const hidden = "[hidden]"

/** Takes secrets out of a text. */
export type Scrub = (text: string) => string

/** The same for a text that comes in pieces: what may be the begin of a secret is held back until more is known. */
export interface PieceScrub {
  readonly next: (piece: string) => string
  /** What was held back, at the end. */
  readonly end: () => string
}

export interface Scrubber {
  readonly text: Scrub
  /** Of one text; undefined where there is nothing to be taken out. */
  readonly pieces: (() => PieceScrub) | undefined
}

/** What a text says when all that may be written in several ways is written in one: its bytes, and where each was. */
type See = (byte: number, start: number, end: number) => void

/** What stands for nothing but itself. */
interface Literal {
  readonly percent?: boolean
  readonly backslash?: boolean
}

const space = 32
const [minus, plus, slash, underscore] = [45, 43, 47, 95]
const [newline, carriageReturn, percent, backslash, letterU] = [10, 13, 37, 92, 117]

const hex = (code: number): number => {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

/** The value of so many hexadecimal digits, or -1. */
const hexAt = (text: string, at: number, digits: number): number => {
  let value = 0
  for (let index = at; index < at + digits; index++) {
    const digit = index < text.length ? hex(text.charCodeAt(index)) : -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

/** What base64 writes in two ways, and forms in a third, is one. */
const folded = (byte: number): number =>
  byte === plus || byte === space ? minus : byte === slash ? underscore : byte

/** UTF-8, a unit of UTF-16 at a time. */
const seeUnit = (unit: number, start: number, end: number, see: See): void => {
  if (unit < 0x80) {
    see(folded(unit), start, end)
    return
  }
  if (unit < 0x800) see(0xc0 | (unit >> 6), start, end)
  else {
    see(0xe0 | (unit >> 12), start, end)
    see(0x80 | ((unit >> 6) & 0x3f), start, end)
  }
  see(0x80 | (unit & 0x3f), start, end)
}

/**
 * Reads the text up to `limit` in one pass: `%2F` and `%252f` as what they stand for, `\u002f` and `\/` at any depth of
 * quoting too, `+` and space and `-` alike, `/` and `_` alike; line breaks are left out.
 */
const read = (
  text: string,
  limit: number,
  see: See,
  literal: Literal = {},
  /** Where to go on: what is before is of no use to whoever sees. */
  skip: (at: number) => number = (at) => at
): void => {
  for (let at = skip(0); at < limit; at = skip(at)) {
    const unit = text.charCodeAt(at)
    if (unit === percent && literal.percent !== true) {
      let digits = at + 1
      while (hexAt(text, digits, 2) === percent && hexAt(text, digits + 2, 2) >= 0) digits += 2
      const byte = hexAt(text, digits, 2)
      if (byte >= 0) {
        see(folded(byte), at, digits + 2)
        at = digits + 2
        continue
      }
    }
    const isQuoting = unit === backslash && literal.backslash !== true
    if (isQuoting && text.charCodeAt(at + 1) === letterU) {
      const escaped = hexAt(text, at + 2, 4)
      if (escaped >= 0) {
        seeUnit(escaped, at, at + 6, see)
        at += 6
        continue
      }
    }
    if (unit !== newline && unit !== carriageReturn && !isQuoting) seeUnit(unit, at, at + 1, see)
    at++
  }
}

/** A secret as it is read: where its own `%` and `\\` are read as escapes, and where they were escaped themselves. */
const wordsOf = (text: string): ReadonlyArray<ReadonlyArray<number>> => {
  const ways = (letter: string) => (text.includes(letter) ? [false, true] : [false])
  return ways("%").flatMap((percent) =>
    ways("\\").map((backslash) => {
      const bytes: Array<number> = []
      read(text, text.length, (byte) => bytes.push(byte), { percent, backslash })
      return bytes
    })
  )
}

/** What of base64 is the same whatever is before and behind the secret, for each place that it may begin at. */
const base64Forms = (secret: string): ReadonlyArray<string> => {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2].map((before) => {
    const text = btoa("\0".repeat(before) + Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + bytes.length)) / 6))
  })
}

interface Range {
  readonly start: number
  readonly end: number
}

interface Scanned {
  readonly ranges: ReadonlyArray<Range>
  /** Where what may be the begin of another secret starts; `limit` where nothing is. */
  readonly pending: number
}

/** A letter that stands for itself and begins no word. */
const isDull = ({ begins }: Automaton, unit: number): boolean =>
  unit < 0x80 && unit !== percent && unit !== backslash && begins[folded(unit)] === 0

/** Where secrets are in the text up to `limit`, in order and apart from each other. */
const scan = (automaton: Automaton, text: string, limit: number): Scanned => {
  const { depth, found, longest, step } = automaton
  const ranges: Array<Range> = []
  /** Where the latest bytes began. */
  const starts = new Int32Array(longest)
  let state = 0
  let count = 0
  // Most letters begin no secret.
  const skip = (from: number): number => {
    let at = from
    while (state === 0 && at < limit && isDull(automaton, text.charCodeAt(at))) at++
    return at
  }
  const see: See = (byte, start, end) => {
    starts[count++ % longest] = start
    state = step(state, byte)
    const length = found[state] ?? 0
    if (length === 0) return
    let from = starts[(count - length) % longest] ?? start
    for (let last = ranges.at(-1); last !== undefined && last.end > from; last = ranges.at(-1)) {
      from = Math.min(from, last.start)
      ranges.pop()
    }
    ranges.push({ start: from, end })
  }
  read(text, limit, see, {}, skip)
  const seen = depth[state] ?? 0
  return { ranges, pending: seen === 0 ? limit : (starts[(count - seen) % longest] ?? limit) }
}

const without = (text: string, ranges: ReadonlyArray<Range>, limit: number): string => {
  let left = ""
  let at = 0
  for (const { end, start } of ranges) {
    if (start >= limit) break
    left += text.slice(at, start) + hidden
    at = end
  }
  return left + text.slice(at, limit)
}

/** An escape that the next piece may go on with. */
const unfinished = /(?:%(?:25){0,8}[\da-f]?|\\{1,8}(?:u[\da-f]{0,3})?)$/iu
const longestEscape = 24

const piecesOf = (automaton: Automaton): PieceScrub => {
  /** An escape has 6 letters for each, twice quoted a few more; who fills up more than that is not waited for. */
  const most = 16 * automaton.longest + 1_024
  let held = ""
  return {
    next: (piece) => {
      const text = held + piece
      const tail = unfinished.exec(text.slice(-longestEscape))?.[0].length ?? 0
      const limit = text.length - tail
      const { pending, ranges } = scan(automaton, text, limit)
      const last = ranges.at(-1)
      const safe = last !== undefined && last.end > pending ? last.start : pending
      const from = text.length - safe <= most ? safe : Math.max(last?.end ?? 0, limit)
      held = text.slice(from)
      return without(text, ranges, from)
    },
    end: () => {
      const { ranges } = scan(automaton, held, held.length)
      const rest = without(held, ranges, held.length)
      held = ""
      return rest
    }
  }
}

/**
 * Takes these secrets out of texts, each place of one becoming `[hidden]`: as they are, escaped for an address or for
 * JSON (also twice), in base64 of either alphabet, also as a part of what is encoded, and cut by line breaks. Those of less
 * than 8 characters (without what an escape takes) are left. It takes a time that grows with the text, whatever is in it.
 */
export const makeScrubber = (secrets: Iterable<string>): Scrubber => {
  const words = [...new Set(secrets)]
    .filter(({ length }) => length >= shortestSecret)
    .flatMap((secret) => [secret, ...base64Forms(secret)])
    .flatMap(wordsOf)
    .filter(({ length }) => length >= shortestSecret)
  if (words.length === 0) return { text: (text) => text, pieces: undefined }
  const automaton = automatonOf(words)
  return {
    text: (text) => {
      const { ranges } = scan(automaton, text, text.length)
      return ranges.length === 0 ? text : without(text, ranges, text.length)
    },
    pieces: () => piecesOf(automaton)
  }
}

/** The same for every text of a JSON value, names of members as well; one that is not too deep to be walked. */
export const scrubJson = (value: Schema.Json, scrub: Scrub): Schema.Json => {
  if (typeof value === "string") return scrub(value)
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value)
    ? value.map((inner) => scrubJson(inner, scrub))
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [scrub(key), scrubJson(inner, scrub)]))
}

/** The secrets of a header: its value, that without the scheme, and what `Basic` encodes. */
export const secretsOfHeader = (value: string): ReadonlyArray<string> => {
  const [, scheme = "", rest = ""] = /^(\S+)\s+(.+)$/u.exec(value) ?? []
  if (rest === "") return [value]
  if (scheme.toLowerCase() !== "basic") return [value, rest]
  try {
    const pair = atob(rest)
    return [value, rest, pair, pair.slice(pair.indexOf(":") + 1)]
  } catch {
    return [value, rest]
  }
}
