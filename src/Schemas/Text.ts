import * as Schema from "effect/Schema"

/**
 * A text field: `minimum` to `maximum` Unicode code points, no NUL (PostgreSQL cannot store it), no
 * lone surrogates (they would not survive UTF-8), and, where at least one is required, more than
 * white space (CONTRACT.md section 2).
 */
export const text = (minimum: number, maximum: number) =>
  Schema.String.check(
    Schema.makeFilter((value: string) => textProblem(value, minimum, maximum), {
      toJsonSchema: () => ({ minLength: minimum, maxLength: maximum }),
      arbitraryConstraint: { minCodePoints: minimum, maxCodePoints: maximum }
    })
  )

/** Why a value is no valid text of `minimum` to `maximum` code points, or `undefined`. */
export const textProblem = (value: string, minimum: number, maximum: number): string | undefined => {
  // A code point is one or two units: what is far too long, or fits either way, is not counted, which takes 10 ms a MiB.
  const units = value.length
  const isPlain = units > 2 * maximum || (units <= maximum && units >= 2 * minimum)
  const length = isPlain ? units : codePoints(value)
  if (length < minimum || length > maximum) {
    return minimum > 0
      ? `must be ${minimum} to ${maximum} characters`
      : `must be at most ${maximum} characters`
  }
  if (value.includes("\u0000")) return "must not contain NUL characters"
  if (!value.isWellFormed()) return "must be well-formed Unicode"
  if (minimum > 0 && value.trim() === "") return "must not be only white space"
  return undefined
}

/** The number of Unicode code points, the unit of every length limit. */
export const codePoints = (value: string): number => {
  let count = 0
  for (const _ of value) count++
  return count
}

/** The first `maximum` code points. */
export const cut = (value: string, maximum: number): string =>
  value.length <= maximum ? value : Array.from(value).slice(0, maximum).join("")

/** White space collapsed, then cut to `maximum` code points at the end of a word where there is one. */
export const cutWords = (value: string, maximum: number): string => {
  const flat = value.replace(/\s+/gu, " ").trim()
  const head = cut(flat, maximum)
  if (head === flat || flat[head.length] === " ") return head
  const end = head.lastIndexOf(" ")
  return end > 0 ? head.slice(0, end) : head
}

/** What a terminal would take for an order, or turn round: texts come from users, and are shown to others. */
export const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
