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
