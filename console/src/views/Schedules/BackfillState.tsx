import { useEffect, useRef, useState } from "preact/hooks"
import type { CronJobId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Moment } from "../../ui/Time.tsx"

const busyMillis = 2_000
const idleMillis = 15_000

interface Props {
  readonly id: CronJobId
  /** Called as often as slots were made up. */
  readonly onChange: () => void
}

/** How many slots wait to be made up, as long as any do. */
export const BackfillState = ({ id, onChange }: Props) => {
  const [every, setEvery] = useState(idleMillis)
  const [isAsking, setAsking] = useState(false)
  const { data, reload } = useLoad(
    id,
    async (signal) =>
      (await call((client) => client.cronJobs.backfillState({ params: { id } }), signal)).data,
    { every }
  )
  const waiting = data?.waiting ?? 0
  const before = useRef(0)
  useEffect(() => {
    setEvery(waiting > 0 ? busyMillis : idleMillis)
    if (waiting !== before.current) onChange()
    before.current = waiting
  }, [waiting, onChange])
  const cancel = useAction(async () => {
    await call((client) => client.cronJobs.cancelBackfill({ params: { id } }))
    reload()
  })
  if (waiting === 0) return null
  return (
    <>
      <Notice kind="info" title={`${waiting} ${waiting === 1 ? "slot waits" : "slots wait"} to be made up`}>
        <span class="row">
          {data?.next !== null && data?.next !== undefined && (
            <span>
              The next is that of <Moment at={data.next} />.
            </span>
          )}
          <Button onClick={() => setAsking(true)}>Cancel backfill…</Button>
        </span>
      </Notice>
      <ProblemNotice problem={cancel.problem} />
      {isAsking && (
        <Confirm
          title="Cancel the backfill?"
          deed={`Drop ${waiting} ${waiting === 1 ? "slot" : "slots"}`}
          problem={cancel.problem}
          onConfirm={() => cancel.run()}
          onClose={() => setAsking(false)}
        >
          <p>What still waits gets no run. A run that was made goes on.</p>
        </Confirm>
      )}
    </>
  )
}
