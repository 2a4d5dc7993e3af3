import { unprintable } from "./Text.ts"

/** A line of a table, by the names of its columns. */
export type Line = Readonly<Record<string, unknown>>

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** A value as a person reads it, on one line. */
export const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return "-"
  const text = value instanceof Date ? value.toISOString() : String(value)
  return text.replace(unprintable, escaped)
}

/** Columns one under the other, with their names above; the columns are those of the first line. */
export const tableOf = (lines: ReadonlyArray<Line>): string => {
  const names = Object.keys(lines[0] ?? {})
  const rows = [names, ...lines.map((line) => names.map((name) => textOf(line[name])))]
  const widths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** One thing, a line for each of its fields. */
export const fieldsOf = (line: Line): string =>
  Object.entries(line)
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join("\n")
