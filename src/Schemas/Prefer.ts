import { wholeNumberOf } from "./WholeNumber.ts"

/** How long an answer may be waited for, in seconds (CONTRACT.md section 11). */
export const shortestWait = 1
export const longestWait = 60

/** What commas, or semicolons, part; those in quotes part nothing. */
const partsOf = (text: string, separator: "," | ";"): ReadonlyArray<string> =>
  text.match(separator === "," ? /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/gsu : /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/gsu) ??
  []

/** The value of `wait`, of which the first counts; an empty one is none (RFC 7240 section 2). */
const valueOf = (prefer: string): string | undefined => {
  for (const preference of partsOf(prefer, ",")) {
    const [named = ""] = partsOf(preference, ";")
    const [name = "", ...value] = named.split("=")
    if (name.trim().toLowerCase() === "wait")
      return value
        .join("=")
        .trim()
        .replace(/^"(.*)"$/su, "$1")
  }
}

/**
 * For how many seconds a `Prefer` field wants an answer to be waited for (RFC 7240 section 4.3): none where it does not
 * say so, `null` where it says what can't be meant. All other preferences are passed over.
 */
export const waitOf = (prefer: string | undefined): number | null | undefined => {
  const value = prefer === undefined ? undefined : valueOf(prefer)
  return value === undefined ? undefined : (wholeNumberOf(value, shortestWait, longestWait) ?? null)
}

/** What is wrong with a field whose `wait` can't be meant. */
export const badWait = `prefer: wait must be a whole number of seconds from ${shortestWait} to ${longestWait}`
