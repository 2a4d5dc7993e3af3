/** How long a turn of the event loop may be worked in before others have theirs, in milliseconds. */
const longestMillis = 8
/** As much of an answer is read within one turn, whatever the clock says. */
const mostBytes = 65_536

let since: number | undefined
let bytes = 0

/**
 * Whether others have waited for long enough. All streams of the process have one turn together: a provider that sends
 * faster than can be read is read in promises alone, which no timer and no socket comes between.
 */
export const isDue = (read = 0): boolean => {
  const now = performance.now()
  if (since === undefined) {
    since = now
    bytes = 0
    setImmediate(() => {
      since = undefined
    })
  }
  bytes += read
  return bytes > mostBytes || now - since > longestMillis
}

/** Until others have had their turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

let waiting: Array<() => void> = []

/**
 * Calls it when what has come in this turn of the event loop was read, by whatever reads it: so what is ready together
 * is seen together. Of all streams of the process it is one callback of the loop.
 */
export const atTurnsEnd = (call: () => void): void => {
  if (waiting.length === 0) {
    setImmediate(() => {
      const calls = waiting
      waiting = []
      for (const each of calls) each()
    })
  }
  waiting.push(call)
}
