import { useRef, useState } from "preact/hooks"
import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { call, newKey } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Backfill } from "./Backfill.tsx"
import { Switch } from "./Switch.tsx"
import type { SlotsState } from "./useSlots.ts"

interface Props {
  readonly job: CronJob
  readonly slots: SlotsState
  readonly onChange: () => void
}

/** What can be done with a job. */
export const JobActions = ({ job, slots, onChange }: Props) => {
  const [open, setOpen] = useState<"backfill" | "delete">()
  const [made, setMade] = useState<RunId>()
  const key = useRef<ReturnType<typeof newKey> | undefined>(undefined)
  const runNow = useAction(async () => {
    // Sent again because nobody heard the answer, it is the same run.
    key.current ??= newKey()
    const { data } = await call(
      (client) => client.cronJobs.run({ params: { id: job.id } }),
      undefined,
      key.current
    ).catch((problem) => {
      if (problem.tag !== "Offline") key.current = undefined
      throw problem
    })
    key.current = undefined
    setMade(data.id)
  })
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
      <div class="schedules-said">
        <ProblemNotice problem={runNow.problem} />
        {made !== undefined && runNow.problem === undefined && (
          <Notice kind="ok">
            A run was made. <a href={href(["runs", made])}>See it</a>
          </Notice>
        )}
      </div>
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
