import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import { call, newKey } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { isOwner } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Moment } from "../../ui/Time.tsx"

const reasons = {
  maker_left: "left the workspace",
  maker_disabled: "may not sign in any more"
} as const

/** Who answers for a job, where nobody does any more, and what can be done about it. */
export const Maker = ({ job, onChange }: { readonly job: CronJob; readonly onChange: () => void }) => {
  const { data, problem, reload } = useLoad(
    `${job.id} ${job.isActive}`,
    async (signal) => (await call((client) => client.cronJobs.maker({ params: { id: job.id } }), signal)).data
  )
  const take = useAction(async () => {
    await call((client) => client.cronJobs.takeOver({ params: { id: job.id } }), undefined, newKey())
    reload()
    onChange()
  })
  if (data === undefined) return <ProblemNotice problem={problem} onRetry={reload} />
  const { createdBy, isMember, stopReason, stoppedAt } = data
  const isStopped = stoppedAt !== null && !job.isActive
  if (isMember || (createdBy === null && !isStopped)) return null
  const who = createdBy?.email ?? "Who made it"
  return (
    <>
      <Notice
        kind="warn"
        title={isStopped ? "Stopped, since nobody answers for it" : "Nobody answers for it any more"}
      >
        <span class="row">
          <span>
            {who} {stopReason === null ? "is no member any more" : reasons[stopReason]}
            {stoppedAt !== null && (
              <>
                {" "}
                (<Moment at={stoppedAt} />)
              </>
            )}
            . Whoever switches it on answers for it from then on
            {isOwner.value ? "" : ", or an owner takes it over"}.
          </span>
          {isOwner.value && (
            <Button isBusy={take.isBusy} onClick={() => take.run()}>
              Take over
            </Button>
          )}
        </span>
      </Notice>
      <ProblemNotice problem={take.problem} />
    </>
  )
}
