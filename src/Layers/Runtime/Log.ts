import * as Logger from "effect/Logger"
import { unprintable } from "../../Schemas/Text.ts"

/** Each of its units as JSON escapes it, so that no terminal obeys what a user or another server wrote. */
const escaped = (character: string): string =>
  character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")

const printable = (line: string): string => line.replace(unprintable, escaped)

/**
 * One line per entry: the time, the level, one message that is the same for all of its kind, and the facts as fields
 * (CONTRACT.md section 13): annotations with scalar values, named unlike what the line has by itself. A cause is a field.
 */
export const formats = {
  logfmt: Logger.map(Logger.formatLogFmt, printable),
  json: Logger.map(
    Logger.formatStructured,
    ({ annotations, cause, fiberId, level, message, timestamp }): string =>
      printable(JSON.stringify({ timestamp, level, fiber: fiberId, message, ...annotations, cause }))
  )
} as const
