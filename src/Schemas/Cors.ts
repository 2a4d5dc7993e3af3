import { isForwardedHttps } from "./Session.ts"

/** Whose pages browsers let ask (CONTRACT.md section 14): those of any origin, or of the ones that are named. */
export type Origins = "any" | ReadonlySet<string>

/** A scheme that browsers know, or an app's own: `https`, `chrome-extension`, `capacitor`, `tauri`. */
const form = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+$/iu

/** An origin as a browser writes it: in lower case, without a port that the scheme has anyway. */
const originOf = (text: string): string | undefined => {
  if (!form.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || url.hostname.includes("*")) return undefined
  return url.origin === "null" ? text.toLowerCase() : url.origin
}

const partsOf = (list: string): ReadonlyArray<string> =>
  list
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")

/** Origins separated by commas, or `*` alone; an empty list is nobody's. Undefined: an entry is no origin. */
export const parse = (list: string): Origins | undefined => {
  const parts = partsOf(list)
  if (parts.length === 1 && parts[0] === "*") return "any"
  const named = new Set<string>()
  for (const part of parts) {
    const origin = originOf(part)
    if (origin === undefined) return undefined
    named.add(origin)
  }
  return named
}

/** What is wrong with such a list, as a predicate that never repeats it. */
export const problemOf = (list: string): string | undefined =>
  parse(list) === undefined
    ? "must be * alone, or origins (https://app.example.com, without a path or a slash at the end), separated by commas"
    : undefined

/** No page of another origin. */
export const none: Origins = new Set()

/** Whether a page of this origin was named: that any may ask names none. */
export const isNamed = (origins: Origins, origin: string): boolean => origins !== "any" && origins.has(origin)

/**
 * Whether pages of a named origin also act as the user whose `session` cookie the browser has: never one in the clear where the
 * service is reached over https, since on its way that page may have become anybody's.
 */
export const mayBringCookie = (
  origins: Origins,
  origin: string,
  forwardedProto: string | undefined
): boolean =>
  isNamed(origins, origin) &&
  (origin.startsWith("https:") || (origin.startsWith("http:") && !isForwardedHttps(forwardedProto)))
