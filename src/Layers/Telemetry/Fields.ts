import { type KeyValue, unknownToAttributeValue } from "effect/observability/OtlpResource"
import { unprintable } from "../../Schemas/Text.ts"

/** Facts as OpenTelemetry has them, texts of this length at most. */
export const fieldsOf = (
  entries: Iterable<readonly [key: string, value: unknown]>,
  length: number
): Array<KeyValue> =>
  Array.from(entries, ([key, value]) => ({ key, value: unknownToAttributeValue(shortened(value, length)) }))

const shortened = (value: unknown, length: number): unknown => {
  if (typeof value === "string")
    return value.length > length ? wellFormed(value.slice(0, length)) : wellFormed(value)
  if (Array.isArray(value)) return value.slice(0, 128).map((one) => shortened(one, length))
  if (typeof value !== "object" || value === null) return value
  return shortened(JSON.stringify(value) ?? "", length)
}

/** Without half of a character, which UTF-8 can't say. */
const wellFormed = (text: string): string => text.toWellFormed()

/** Without what a terminal would obey: the lines of a log are read there, wherever they have been. */
export const printed = (text: string, length: number): string =>
  wellFormed(text.slice(0, length).replace(unprintable, " "))

/** About how much room it takes: the lengths of its texts, and something for each value. */
export const sizeOf = (value: unknown): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null) return 8
  let size = 16
  for (const part of Object.values(value)) size += sizeOf(part)
  return size
}
