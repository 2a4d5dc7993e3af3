import { useState } from "preact/hooks"
import type { CronFire } from "../../../../src/Schemas/CronFire.ts"
import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import { call, Problem } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Select, TextField } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { clockText, fromField, ownZone, toField } from "./Zones.ts"

const dayMillis = 86_400_000

interface Props {
  readonly job: CronJob
  /** The slots that are known here, newest first. */
  readonly fires: ReadonlyArray<CronFire>
  readonly onClose: () => void
  readonly onQueued: () => void
}

const wholeSecond = (millis: number): Date => new Date(Math.floor(millis / 1_000) * 1_000)

/** From the oldest missed slot that is known, else from a day ago. */
const firstFrom = (fires: ReadonlyArray<CronFire>): Date =>
  wholeSecond(
    fires.findLast(({ outcome }) => outcome === "missed")?.scheduledAt.getTime() ?? Date.now() - dayMillis
  )

/** Has slots of a job made up: which ones, and how many that were. */
export const Backfill = ({ job, fires, onClose, onQueued }: Props) => {
  const [from, setFrom] = useState(() => toField(firstFrom(fires)))
  const [to, setTo] = useState(() => toField(wholeSecond(Date.now())))
  const [only, setOnly] = useState<"all" | "missed">("missed")
  const [queued, setQueued] = useState<number>()
  const range = { from: fromField(from), to: fromField(to) }
  const send = useAction(async () => {
    setQueued(undefined)
    if (range.from === undefined) throw new Problem("InvalidInput", "from: must be a date and a time")
    if (range.to === undefined) throw new Problem("InvalidInput", "to: must be a date and a time")
    const payload = { from: range.from, to: range.to, only }
    const { data } = await call((client) => client.cronJobs.backfill({ params: { id: job.id }, payload }))
    setQueued(data.slots)
    if (data.slots > 0) onQueued()
  })
  const isWithin = ({ scheduledAt }: CronFire) =>
    range.from !== undefined && range.to !== undefined && scheduledAt >= range.from && scheduledAt < range.to
  const missed = fires.filter((fire) => fire.outcome === "missed" && isWithin(fire)).length
  const inZone = (at: Date | undefined) =>
    at === undefined || ownZone() === job.timezone
      ? `On your clock (${ownZone()}).`
      : `On your clock (${ownZone()}); in ${job.timezone} it is ${clockText(at, job.timezone)}.`
  const { problem } = send
  return (
    <Dialog title={`Backfill “${job.name}”`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send.run()
        }}
      >
        <p class="muted">
          Slots of the past get their runs now, one after the other, the oldest first. A slot that had a run
          gets no second one.
        </p>
        <TextField
          label="From"
          name="from"
          type="datetime-local"
          step={1}
          value={from}
          hint={inZone(range.from)}
          problem={problem}
          onText={setFrom}
        />
        <TextField
          label="Before"
          name="to"
          type="datetime-local"
          step={1}
          value={to}
          hint={inZone(range.to)}
          problem={problem}
          onText={setTo}
        />
        <Select
          label="Which slots"
          name="only"
          value={only}
          choices={[
            { value: "missed", label: "Only those that were missed" },
            { value: "all", label: "All that had no run, whatever the reason" }
          ]}
          problem={problem}
          onChoice={(chosen) => setOnly(chosen === "all" ? "all" : "missed")}
        />
        <p aria-live="polite">
          {missed === 0
            ? "None of the slots that are shown on the page was missed in that time."
            : `${missed} of the slots that are shown on the page ${missed === 1 ? "was" : "were"} missed in that time.`}
        </p>
        {isOfForm(problem, ["from", "to", "only"]) && <ProblemNotice problem={problem} />}
        {queued !== undefined && (
          <Notice kind={queued === 0 ? "info" : "ok"}>
            {queued === 0
              ? "Nothing was left to make up in that time."
              : `${queued} ${queued === 1 ? "slot waits" : "slots wait"} for ${queued === 1 ? "its run" : "their runs"} now.`}
          </Notice>
        )}
        <footer>
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={send.isBusy}>
            Make up slots
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
