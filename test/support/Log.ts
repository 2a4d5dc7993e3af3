import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { LogLevel } from "effect/LogLevel"
import * as References from "effect/References"
import { formats } from "../../src/Layers/Runtime/Log.ts"

/** The log of a test from a level on: its lines in both formats, and its entries as a machine reads them. */
export const makeLog = (from: LogLevel = "All") => {
  const lines: Array<string> = []
  const entries: Array<Readonly<Record<string, unknown>>> = []
  const layer = Layer.merge(
    Logger.layer([
      Logger.map(formats.logfmt, (line) => void lines.push(line)),
      Logger.map(formats.json, (line) => {
        lines.push(line)
        entries.push(JSON.parse(line))
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, from)
  )
  /** Without what no test can expect. */
  const facts = () => entries.map(({ cause: _, fiber: __, timestamp: ___, ...rest }) => rest)
  return { entries, facts, layer, lines }
}
