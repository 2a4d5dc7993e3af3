import { useEffect, useState } from "preact/hooks"
import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import type { RunUsage } from "../../../../src/Schemas/UsageReport.ts"
import { call, type Problem } from "../../Client.ts"
import { followRun } from "../../Events.ts"
import { useLoad } from "../../Load.ts"
import { changesSteps, type Live, next, nothing } from "./Live.ts"
import type { Times } from "./Story.ts"
import { readTimes } from "./Times.ts"

/** What events tell is enough to know when to look; this is for what they don't. */
const lookMillis = 5_000

export interface RunState {
  readonly run: RunDetail | undefined
  readonly usage: RunUsage | undefined
  readonly times: Times
  readonly live: Live
  /** Why it can't be read, or not again. */
  readonly problem: Problem | undefined
  /** Why nothing comes in by its event stream just now. */
  readonly lost: Problem | undefined
  readonly reload: () => void
}

const noTimes: Times = { steps: new Map(), approvals: [], executions: [], errorCode: undefined }

const read = async (id: RunId, signal: AbortSignal) => {
  const [run, usage] = await Promise.all([
    call((client) => client.runs.get({ params: { id } }), signal),
    call((client) => client.runs.usage({ params: { id } }), signal)
  ])
  return { run: run.data, usage: usage.data, times: await readTimes(run.data, signal) }
}

/** A run as it is, followed by its events for as long as it goes on. */
export const useRun = (id: RunId): RunState => {
  const [isActive, setActive] = useState(false)
  const { data, problem, reload } = useLoad(id, (signal) => read(id, signal), {
    every: isActive ? lookMillis : undefined
  })
  const [live, setLive] = useState(nothing)
  const [lost, setLost] = useState<Problem>()
  const status = data?.run.status
  useEffect(() => setActive(status !== undefined && !isTerminal(status)), [status])
  const isUnexplained = status === "FAILED" && data?.times.errorCode === undefined

  useEffect(() => {
    if (!isActive && !isUnexplained) return
    let state = nothing
    let frame: number | undefined
    const draw = () => {
      frame = undefined
      setLive(state)
    }
    const stop = followRun(id, {
      onEvent: ({ event }) => {
        state = next(state, event, Date.now())
        frame ??= requestAnimationFrame(draw)
        if (isActive && changesSteps(event)) reload()
      },
      onEnd: () => {
        setLost(undefined)
        if (isActive) reload()
      },
      onProblem: setLost
    })
    return () => {
      stop()
      if (frame !== undefined) cancelAnimationFrame(frame)
      setLive(state)
      setLost(undefined)
    }
  }, [id, isActive, isUnexplained, reload])

  return { run: data?.run, usage: data?.usage, times: data?.times ?? noTimes, live, problem, lost, reload }
}
