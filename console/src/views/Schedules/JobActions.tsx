import { useState } from "preact/hooks"
import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import { call } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Backfill } from "./Backfill.tsx"
import { Switch } from "./Switch.tsx"
import type { RunNow } from "./useRunNow.ts"
import type { SlotsState } from "./useSlots.ts"

interface Props {
  readonly job: CronJob
  readonly slots: SlotsState
  readonly runNow: RunNow
  readonly onChange: () => void
}

/** What can be done with a job. */
export const JobActions = ({ job, slots, runNow, onChange }: Props) => {
  const [open, setOpen] = useState<"backfill" | "delete">()
  const remove = useAction(async () => {
    await call((client) => client.cronJobs.remove({ params: { id: job.id } }))
    go(href(["schedules"]), { replace: true })
  })
  const close = () => {
    remove.clear()
    setOpen(undefined)
  }
  return (
    <>
      <Switch job={job} onSwitched={onChange} />
      <Button kind="primary" isBusy={runNow.isBusy} onClick={() => runNow.run()}>
        Run now
      </Button>
      <Button onClick={() => setOpen("backfill")}>Backfill…</Button>
      <a class="button" href={href(["schedules", job.id, "edit"])}>
        Edit
      </a>
      <Button kind="danger" onClick={() => setOpen("delete")}>
        Delete…
      </Button>
      {open === "backfill" && (
        <Backfill job={job} fires={slots.fires ?? []} onClose={close} onQueued={slots.reload} />
      )}
      {open === "delete" && (
        <Confirm
          title={`Delete “${job.name}”?`}
          deed="Delete schedule"
          problem={remove.problem}
          onConfirm={() => remove.run()}
          onClose={close}
        >
          <p>
            It makes no more runs, and its ledger and what waits to be made up are gone. Its runs stay; one
            that is under way goes on. It can't be undone: to pause it, switch it off.
          </p>
        </Confirm>
      )}
    </>
  )
}
