import * as Logger from "effect/Logger"

/**
 * One line per entry: the time, the level, one message that is the same for all of its kind, and the facts as fields
 * (CONTRACT.md section 13): annotations with scalar values, named unlike what the line has by itself. A cause is a field.
 */
export const formats = {
  logfmt: Logger.formatLogFmt,
  json: Logger.map(
    Logger.formatStructured,
    ({ annotations, cause, fiberId, level, message, timestamp }): string =>
      JSON.stringify({ timestamp, level, fiber: fiberId, message, ...annotations, cause })
  )
} as const
