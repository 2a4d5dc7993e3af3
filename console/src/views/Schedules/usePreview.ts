import { useEffect, useState } from "preact/hooks"
import { call, type Problem, toProblem } from "../../Client.ts"

const pauseMillis = 300

export interface Preview {
  /** The last that are known, also while others are awaited. */
  readonly instants: ReadonlyArray<Date> | undefined
  readonly problem: Problem | undefined
  /** Whether they are of what is written now. */
  readonly isCurrent: boolean
}

interface Answer {
  readonly of: string
  readonly instants: ReadonlyArray<Date> | undefined
  readonly problem: Problem | undefined
}

/** The next instants of an expression while it is typed: asked for in a pause, and answers to what was before are nobody's. */
export const usePreview = (schedule: string, timezone: string, count: number): Preview => {
  const of = JSON.stringify({ schedule, timezone, count })
  const [answer, setAnswer] = useState<Answer>()
  useEffect(() => {
    if (schedule.trim() === "" || timezone.trim() === "") return
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      const payload = { schedule, timezone, count }
      const settled = await call((client) => client.cronJobs.preview({ payload }), controller.signal).then(
        ({ data }) => ({ instants: data, problem: undefined }),
        (error) => ({ instants: undefined, problem: toProblem(error) })
      )
      if (!controller.signal.aborted) setAnswer({ of, ...settled })
    }, pauseMillis)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [of, schedule, timezone, count])
  const isEmpty = schedule.trim() === "" || timezone.trim() === ""
  return {
    instants: isEmpty ? undefined : answer?.instants,
    problem: isEmpty || answer?.of !== of ? undefined : answer.problem,
    isCurrent: answer?.of === of
  }
}
