import { useState } from "preact/hooks"
import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import { call } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { Checkbox } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"

interface Props {
  readonly job: CronJob
  /** In a row of a list, where the job is named beside it. */
  readonly isQuiet?: boolean
  readonly onSwitched: () => void
}

/** Switches a job on or off, at once. */
export const Switch = ({ job, isQuiet = false, onSwitched }: Props) => {
  const [told, setTold] = useState<{ readonly of: CronJob; readonly isOn: boolean }>()
  const change = useAction(async (isActive: boolean) => {
    await call((client) => client.cronJobs.update({ params: { id: job.id }, payload: { isActive } }))
    setTold({ of: job, isOn: isActive })
    onSwitched()
  })
  // Until the list or page has been read again, what the service answered counts.
  const isOn = told?.of === job ? told.isOn : job.isActive
  const word = isOn ? "On" : "Off"
  return (
    <>
      <Checkbox
        isSwitch
        label={isQuiet ? <span class="visually-hidden">{job.name} is switched on</span> : word}
        checked={isOn}
        disabled={change.isBusy}
        onCheck={(checked) => change.run(checked)}
      />
      <ProblemNotice problem={change.problem} />
    </>
  )
}
