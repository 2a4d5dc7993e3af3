import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import type { RunStatus } from "../../../../src/Schemas/Run.ts"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { Age } from "../../ui/Time.tsx"
import { useSeen } from "../../ui/useSeen.ts"
import { kindOf, shortWord } from "./Slots.ts"
import { ShortStrip } from "./Strip.tsx"
import { Switch } from "./Switch.tsx"
import { words } from "./Words.ts"
import { dayAndTime, hereText, ownZone } from "./Zones.ts"

const most = 30
const everyMillis = 20_000

/** What the row of a job tells beside the job: read once the row is seen, and again while it is. */
const useGlance = (job: CronJob, isSeen: boolean, isInView: boolean) => {
  const { data, problem } = useLoad(
    `${job.id} ${job.schedule} ${job.timezone} ${job.isActive} ${isSeen}`,
    async (signal) => {
      if (!isSeen) return undefined
      const { id, isActive, schedule, timezone, workspaceId } = job
      const [fires, runs, next] = await Promise.all([
        call(
          (client) => client.cronJobs.fires({ params: { id }, query: { limit: most, offset: 0 } }),
          signal
        ),
        call((client) => client.runs.list({ query: { workspaceId, cronJobId: id, limit: most } }), signal),
        isActive
          ? call((client) => client.cronJobs.preview({ payload: { schedule, timezone, count: 1 } }), signal)
          : { data: [] }
      ])
      return {
        fires: fires.data,
        statuses: new Map<string, RunStatus>(runs.data.map(({ id, status }) => [id, status])),
        next: next.data[0]
      }
    },
    { every: isInView ? everyMillis : undefined }
  )
  return { glance: data, problem }
}

/** A cron job in the list. */
export const JobRow = ({ job, onChange }: { readonly job: CronJob; readonly onChange: () => void }) => {
  const { isInView, isSeen, ref } = useSeen<HTMLTableRowElement>()
  const { glance, problem } = useGlance(job, isSeen, isInView)
  const newest = glance?.fires[0]
  const means = words(job.schedule)
  const own = ownZone()
  return (
    <tr ref={ref} class="schedules-row">
      <td class="schedules-name">
        <a href={href(["schedules", job.id])} title={job.name}>
          {job.name}
        </a>
        <div class="muted">{job.agent?.name ?? "Workspace default"}</div>
      </td>
      <td class="schedules-when">
        <code>{job.schedule}</code>
        <div class="muted">
          {means === undefined ? "" : `${means} · `}
          {job.timezone}
        </div>
      </td>
      <td class="schedules-next">
        {!job.isActive && <span class="muted">Switched off</span>}
        {job.isActive && glance?.next !== undefined && (
          <>
            <div class="number">{dayAndTime(glance.next, job.timezone)}</div>
            {own !== job.timezone && (
              <div class="muted number">{hereText(glance.next, job.timezone)} here</div>
            )}
            <div class="muted">
              <Age at={glance.next} />
            </div>
          </>
        )}
      </td>
      <td class="schedules-last">
        {glance === undefined && problem === undefined && <span class="slots-short slots-awaited" />}
        {problem !== undefined && <span class="muted">{problem.message}</span>}
        {glance !== undefined && newest === undefined && <span class="muted">No slot yet</span>}
        {glance !== undefined && newest !== undefined && (
          <>
            <ShortStrip fires={glance.fires} statuses={glance.statuses} most={most} />
            <div class="muted">
              {shortWord(kindOf(newest, glance.statuses))} <Age at={newest.scheduledAt} />
            </div>
          </>
        )}
      </td>
      <td>
        <Switch job={job} isQuiet onSwitched={onChange} />
      </td>
    </tr>
  )
}
