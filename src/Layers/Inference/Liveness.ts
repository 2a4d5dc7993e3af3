import type * as Clock from "effect/Clock"
import { monotonicMillisOf } from "../../Services/CurrentTime.ts"
import { whenSilent } from "../../Services/Silence.ts"
import { type Failure, finally_ } from "./Failures.ts"

/** What keeps a line open is a few lines at a time: more of them in a row, with nothing in them, are no answer. */
const mostLines = 10_000
/** Nobody who thinks says so more often, in lines per second, for as long as a provider may be silent. */
const mostLinesPerSecond = 10

/**
 * Watches over one answer, and closes it where it is silent for `idleMillis` or brings nothing. Comments and pings are
 * signs of life: a model may think for as long as a model call may take.
 */
export const makeWatch = (idleMillis: number, clock: Clock.Clock, close: () => void) => {
  let lastHeard = monotonicMillisOf(clock)
  let lastCarried = lastHeard
  let lines = 0
  let failure: Failure | undefined
  const end = (error: string) => {
    failure ??= finally_("timeout", error)
    close()
  }
  const silence = whenSilent(clock, idleMillis, () =>
    end(`the model provider sent nothing for ${idleMillis / 1000} s`)
  )

  return {
    /** Why the answer was closed. */
    failure: () => failure,
    /** Something has come. */
    heard: (more: number): void => {
      lastHeard = silence.heard()
      lines += more
      const quiet = lastHeard - lastCarried
      if (lines > mostLines || (quiet >= idleMillis && lines * 1000 > quiet * mostLinesPerSecond)) {
        end("the model provider keeps sending, and nothing of an answer")
      }
    },
    /** What has come was something of the answer. */
    carried: (): void => {
      lastCarried = lastHeard
      lines = 0
    },
    /** Nobody waits for the answer any more. */
    leave: silence.leave
  }
}
