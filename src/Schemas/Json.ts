import type * as Schema from "effect/Schema"

const deepest = 100

/** Text that can be stored and sent: NUL characters and lone surrogates become U+FFFD. */
export const storableText = (value: string): string => value.replaceAll("\u0000", "\uFFFD").toWellFormed()

/** The same value with the members of every object in the order of their names. */
export const sortedJson = (value: Schema.Json): Schema.Json => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(sortedJson)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortedJson(inner)]))
}

/**
 * JSON that can be stored: every text in it as `storableText`, and what is nested deeper than 100 levels
 * replaced by a sentence that says so.
 */
export const storableJson = (value: Schema.Json, depth = 0): Schema.Json => {
  if (typeof value === "string") return storableText(value)
  if (typeof value !== "object" || value === null) return value
  if (depth >= deepest) return "(nested too deeply to be kept)"
  return Array.isArray(value)
    ? value.map((inner) => storableJson(inner, depth + 1))
    : Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [storableText(key), storableJson(inner, depth + 1)])
      )
}
