import { useState } from "preact/hooks"
import type { CronJobId, RunId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { type Action, useAction, useOnce } from "../../Load.ts"

export interface RunNow extends Action<[]> {
  /** The last run that was made here. */
  readonly made: RunId | undefined
}

/** Makes a run of a job now. Asked again because nobody heard the answer, it is the same run. */
export const useRunNow = (id: CronJobId): RunNow => {
  const once = useOnce()
  const [made, setMade] = useState<RunId>()
  const action = useAction(async () => {
    const { data } = await once(id, (key) =>
      call((client) => client.cronJobs.run({ params: { id } }), undefined, key)
    )
    setMade(data.id)
  })
  return { ...action, made }
}
