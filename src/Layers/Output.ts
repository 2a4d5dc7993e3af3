import * as Effect from "effect/Effect"

/**
 * A line for the person at the terminal, beside the log. It is done when the line is handed over, so that nothing is
 * cut off at the end of the process; that nobody reads any more (`… | head`) is no mistake.
 */
export const writeStdout = (line: string): Effect.Effect<void> => writeText(`${line}\n`)

const ignored = () => undefined

/** The same, of a text as it is. */
export const writeText = (text: string): Effect.Effect<void> =>
  Effect.callback((resume) => {
    // The event of a write that failed comes behind its callback, and ends the process where nobody listens.
    if (!process.stdout.listeners("error").includes(ignored)) process.stdout.on("error", ignored)
    process.stdout.write(text, () => resume(Effect.void))
  })

export const writeStderr = (line: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stderr.write(`${line}\n`))
