import { useEffect, useState } from "preact/hooks"
import type { Approval } from "../../../../src/Schemas/Approval.ts"
import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import type { RunTimeline } from "../../../../src/Schemas/RunTimeline.ts"
import type { RunUsage } from "../../../../src/Schemas/UsageReport.ts"
import { call, type Problem } from "../../Client.ts"
import { followRun } from "../../Events.ts"
import { useLoad } from "../../Load.ts"
import { changesSteps, type Live, next, nothing } from "./Live.ts"

/** What events tell is enough to know when to look; this is for what they don't. */
const lookMillis = 5_000

export interface RunState {
  readonly read: Read | undefined
  readonly live: Live
  /** Why it can't be read, or not again. */
  readonly problem: Problem | undefined
  /** Why nothing comes in by its event stream just now. */
  readonly lost: Problem | undefined
  readonly reload: () => void
}

/** What there is to know of a run at once. */
export interface Read {
  readonly run: RunDetail
  readonly usage: RunUsage
  /** Has at least the steps that the run has. */
  readonly timeline: RunTimeline
  /** Those that wait for somebody, oldest first. */
  readonly approvals: ReadonlyArray<Approval>
}

const pageRows = 100
/** Of those that wait in a workspace no more are looked through. */
const mostPages = 10

/** The approvals that a run waits for, among those of its workspace. */
const waitingFor = async (
  { id, workspaceId }: RunDetail,
  { spans }: RunTimeline,
  signal: AbortSignal
): Promise<ReadonlyArray<Approval>> => {
  const wanted = spans.filter((span) => span.type === "approval" && span.status === "PENDING").length
  const found: Array<Approval> = []
  for (let page = 0; page < mostPages && found.length < wanted; page++) {
    const query = { workspaceId, limit: pageRows, offset: page * pageRows }
    const { data } = await call((client) => client.approvals.list({ query }), signal)
    found.push(...data.filter(({ runId }) => runId === id))
    if (data.length < pageRows) break
  }
  return found
}

const readAll = async (id: RunId, signal: AbortSignal): Promise<Read> => {
  const params = { id }
  const [{ data: run }, { data: usage }] = await Promise.all([
    call((client) => client.runs.get({ params }), signal),
    call((client) => client.runs.usage({ params }), signal)
  ])
  const { data: timeline } = await call((client) => client.runs.timeline({ params }), signal)
  const isWaiting = run.status === "WAITING_APPROVAL"
  return { run, usage, timeline, approvals: isWaiting ? await waitingFor(run, timeline, signal) : [] }
}

/** A run as it is, followed by its events for as long as it goes on. */
export const useRun = (id: RunId): RunState => {
  const [isActive, setActive] = useState(false)
  const { data, problem, reload } = useLoad(id, (signal) => readAll(id, signal), {
    every: isActive ? lookMillis : undefined
  })
  const [live, setLive] = useState(nothing)
  const [lost, setLost] = useState<Problem>()
  const status = data?.run.status
  useEffect(() => setActive(status !== undefined && !isTerminal(status)), [status])

  useEffect(() => {
    if (!isActive) return
    let state = nothing
    let isLost = false
    let frame: number | undefined
    const draw = () => {
      frame = undefined
      setLive(state)
    }
    const stop = followRun(id, {
      onEvent: ({ event }) => {
        state = next(state, event, Date.now())
        frame ??= requestAnimationFrame(draw)
        if (changesSteps(event)) reload()
      },
      onEnd: () => {
        setLost(undefined)
        reload()
      },
      onProblem: (problem) => {
        if (problem === undefined && isLost) reload()
        isLost = problem !== undefined
        setLost(problem)
      }
    })
    return () => {
      stop()
      if (frame !== undefined) cancelAnimationFrame(frame)
      setLive(state)
      setLost(undefined)
    }
  }, [id, isActive, reload])

  return { read: data, live, problem, lost, reload }
}
