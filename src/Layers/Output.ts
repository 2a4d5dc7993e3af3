import * as Effect from "effect/Effect"

/** A line for the person at the terminal, beside the log. */
export const writeStdout = (line: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stdout.write(`${line}\n`))

export const writeStderr = (line: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stderr.write(`${line}\n`))
