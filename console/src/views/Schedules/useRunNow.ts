import { useRef, useState } from "preact/hooks"
import type { CronJobId, RunId } from "../../../../src/Schemas/Ids.ts"
import { call, newKey, toProblem } from "../../Client.ts"
import { type Action, useAction } from "../../Load.ts"

export interface RunNow extends Action<[]> {
  /** The last run that was made here. */
  readonly made: RunId | undefined
}

/** Makes a run of a job now. Asked again because nobody heard the answer, it is the same run. */
export const useRunNow = (id: CronJobId): RunNow => {
  const key = useRef<ReturnType<typeof newKey> | undefined>(undefined)
  const [made, setMade] = useState<RunId>()
  const action = useAction(async () => {
    key.current ??= newKey()
    try {
      const { data } = await call((client) => client.cronJobs.run({ params: { id } }), undefined, key.current)
      setMade(data.id)
      key.current = undefined
    } catch (error) {
      const problem = toProblem(error)
      if (problem.tag !== "Offline") key.current = undefined
      throw problem
    }
  })
  return { ...action, made }
}
