import * as Effect from "effect/Effect"
import { printable, secondsOf, shortOf } from "../../Schemas/Shown.ts"
import { writeStderr, writeStdout, writeText } from "../Output.ts"
import { knownOf, type Told } from "./Follow.ts"

/** Where a command shows what it was told: the answer on standard output, all else on standard error. */
export interface Screen {
  readonly show: (told: Told) => Effect.Effect<void>
  /** A line for the person, beside the answer. */
  readonly note: (line: string) => Effect.Effect<void>
  /** What is to be typed behind it stands on the same line. */
  readonly prompt: (text: string) => Effect.Effect<void>
  /** Ends a line of the answer that has none. */
  readonly endLine: Effect.Effect<void>
  /** The last line for a program. */
  readonly result: (value: object) => Effect.Effect<void>
  readonly isJson: boolean
  /** The id of the last event that was shown. */
  readonly lastId: () => number
}

/** Grey, where that is seen. */
const dimmed = (line: string): string =>
  process.stderr.isTTY && !process.env.NO_COLOR ? `\u001b[2m${line}\u001b[22m` : line

/** A tool that is called or has answered, on one line. */
const lineOf = (told: Told): string | undefined => {
  const known = knownOf(told)
  if (known?.event === "tool_call") {
    return `> ${shortOf(known.data.name)} ${shortOf(known.data.arguments)}`
  }
  if (known?.event === "tool_result") {
    const { durationMs, isError, name, result } = known.data
    return `< ${shortOf(name)} ${isError ? "failed" : "answered"} in ${secondsOf(durationMs)}: ${shortOf(result)}`
  }
  if (known?.event !== "status" || !("unavailableConnectors" in known.data)) return undefined
  const names = (known.data.unavailableConnectors ?? []).map(({ name }) => shortOf(name))
  return names.length === 0 ? undefined : `agentd: without ${names.join(", ")}, which can't be reached`
}

/** For a program every event is one line of JSON; for a person the text of the answer as it comes. */
export const make = (isJson: boolean): Screen => {
  let isWithin = false
  let hasText = false
  let lastId = 0

  const endLine = Effect.suspend(() => {
    if (!isWithin) return Effect.void
    isWithin = false
    return writeText("\n")
  })
  const note = (line: string) => {
    // On one terminal both are one text.
    const before = process.stdout.isTTY ? endLine : Effect.void
    return Effect.andThen(before, writeStderr(dimmed(line)))
  }
  const write = (text: string) => {
    const shown = printable(text)
    if (shown === "") return Effect.void
    hasText = true
    isWithin = !shown.endsWith("\n")
    return writeText(shown)
  }
  /** Of a stream whose text is not kept any more the end has it. */
  const endText = (told: Told) => {
    const known = knownOf(told)
    if (known?.event !== "done" || hasText) return Effect.void
    return write("output" in known.data ? known.data.output : known.data.message.content)
  }

  const showText = (told: Told): Effect.Effect<void> => {
    const known = knownOf(told)
    if (known?.event === "conversation") hasText = false
    if (known?.event === "status" && "delta" in known.data) return write(known.data.delta)
    // What the model says next is another paragraph.
    if (known?.event === "status") return Effect.andThen(endLine, noteOf(told))
    return known?.event === "done" ? Effect.andThen(endText(told), endLine) : noteOf(told)
  }
  const noteOf = (told: Told) => {
    const line = lineOf(told)
    return line === undefined ? Effect.void : note(line)
  }

  return {
    isJson,
    lastId: () => lastId,
    show: (told) =>
      Effect.suspend(() => {
        lastId = told.id
        return isJson ? writeStdout(JSON.stringify(told)) : showText(told)
      }),
    note,
    prompt: (text) =>
      Effect.andThen(
        endLine,
        Effect.sync(() => void process.stderr.write(text))
      ),
    endLine: isJson ? Effect.void : endLine,
    result: (value) => writeStdout(JSON.stringify(value))
  }
}
