import type * as Schema from "effect/Schema"

const shortestSecret = 8

/** Takes secrets out of a text. */
export type Scrub = (text: string) => string

/**
 * Takes the values of these headers out of a text, should a server say them back: whole, and a token
 * without its scheme. Short ones are no secrets, and would spoil ordinary words.
 */
export const scrubber = (headers: Readonly<Record<string, string>>): Scrub => {
  const secrets = Object.values(headers)
    .flatMap((value) => [value, value.replace(/^\S+\s+/u, "")])
    .filter((value) => value.length >= shortestSecret)
    // Of one that holds another, nothing must be left over.
    .sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, "[hidden]"), text)
}

/** The same for every text of a JSON value, names of members as well; one that is not too deep to be walked. */
export const scrubJson = (value: Schema.Json, scrub: Scrub): Schema.Json => {
  if (typeof value === "string") return scrub(value)
  if (typeof value !== "object" || value === null) return value
  return Array.isArray(value)
    ? value.map((inner) => scrubJson(inner, scrub))
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [scrub(key), scrubJson(inner, scrub)]))
}
