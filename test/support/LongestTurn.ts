/** Watches how long this thread's event loop is held at once. */
export interface TurnMeter {
  /** The longest turn since the last call, in milliseconds of CPU time of this thread. */
  readonly take: () => number
  readonly stop: () => void
}

/**
 * CPU time, not wall time: what another process takes of the machine meanwhile does not count, what the garbage
 * collector takes of this thread does. A turn is what runs between two immediates, so all that becomes ready at once.
 */
export const measureTurns = (): TurnMeter => {
  let longest = 0
  let before = cpuMillis()
  let handle: NodeJS.Immediate
  const turn = () => {
    const at = cpuMillis()
    longest = Math.max(longest, at - before)
    before = at
    handle = setImmediate(turn)
  }
  handle = setImmediate(turn)
  return {
    take: () => {
      const taken = longest
      longest = 0
      return taken
    },
    stop: () => clearImmediate(handle)
  }
}

const cpuMillis = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1000
}
