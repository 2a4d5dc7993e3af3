import * as Effect from "effect/Effect"

/**
 * A line for the person at the terminal, beside the log. It is done when the line is handed over, so that nothing is
 * cut off at the end of the process; that nobody reads any more (`… | head`) is no mistake.
 */
export const writeStdout = (line: string): Effect.Effect<void> => writeText(`${line}\n`)

/** The same, of a text as it is. */
export const writeText = (text: string): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const gone = () => resume(Effect.void)
    process.stdout.once("error", gone)
    process.stdout.write(text, (error) => {
      // The event comes behind this call, and ends the process where nobody listens.
      if (error == null) process.stdout.off("error", gone)
      resume(Effect.void)
    })
  })

export const writeStderr = (line: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stderr.write(`${line}\n`))
