import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import type { CronJobId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { Id } from "../../ui/Copy.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Facts, Loading, Page, Section } from "../../ui/Page.tsx"
import { PolicySection } from "../../ui/PolicySection.tsx"
import { Badge } from "../../ui/Status.tsx"
import { LongText } from "../../ui/Text.tsx"
import { Age } from "../../ui/Time.tsx"
import { BackfillState } from "./BackfillState.tsx"
import { Instants } from "./Instants.tsx"
import { JobActions } from "./JobActions.tsx"
import { Maker } from "./Maker.tsx"
import { PastSlots } from "./PastSlots.tsx"
import { useRunNow } from "./useRunNow.ts"
import { useSlots } from "./useSlots.ts"
import { words } from "./Words.ts"

const everyMillis = 10_000
const slotsMillis = 5_000
const shownInstants = 6

const back = { href: href(["schedules"]), label: "Schedules" }

/** A cron job: when it comes next, what became of its slots, and all that can be done with it. */
export const JobPage = ({ id }: { readonly id: CronJobId }) => {
  const { data, isLoading, problem, reload } = useLoad(
    id,
    async (signal) => (await call((client) => client.cronJobs.get({ params: { id } }), signal)).data,
    { every: everyMillis }
  )
  if (data === undefined) {
    return (
      <Page title="Schedule" back={back}>
        {isLoading ? <Loading rows={8} /> : <ProblemNotice problem={problem} onRetry={reload} />}
      </Page>
    )
  }
  return <Job job={data} onChange={reload} oldBecause={problem?.message} />
}

interface JobProps {
  readonly job: CronJob
  readonly onChange: () => void
  /** Why what is shown may be old. */
  readonly oldBecause: string | undefined
}

const Job = ({ job, onChange, oldBecause }: JobProps) => {
  const slots = useSlots(job, slotsMillis)
  const runNow = useRunNow(job.id)
  const means = words(job.schedule)
  return (
    <Page
      title={job.name}
      back={back}
      note={
        <span class="row">
          <code>{job.schedule}</code>
          {means !== undefined && <span>{means}</span>}
          <span>{job.timezone}</span>
          {!job.isActive && <Badge tone="idle">Switched off</Badge>}
        </span>
      }
      actions={<JobActions job={job} slots={slots} runNow={runNow} onChange={onChange} />}
    >
      <div class="stack">
        {oldBecause !== undefined && (
          <Notice kind="warn">{oldBecause} What is shown may be old; it is tried again.</Notice>
        )}
        <ProblemNotice problem={runNow.problem} />
        {runNow.made !== undefined && runNow.problem === undefined && (
          <Notice kind="ok">
            A run was made. <a href={href(["runs", runNow.made])}>See it</a>
          </Notice>
        )}
        <Maker job={job} onChange={onChange} />
        <BackfillState id={job.id} onChange={slots.reload} />
      </div>
      <Section
        title="Past slots"
        actions={<a href={href(["runs"], { cronJobId: job.id })}>Runs of this schedule</a>}
      >
        <PastSlots slots={slots} timeZone={job.timezone} />
      </Section>
      <div class="schedules-two">
        <Section title="Next">
          <Next job={job} />
        </Section>
        <Section title="Task">
          <div class="panel stack">
            {job.description !== null && job.description !== "" && <p>{job.description}</p>}
            <LongText text={job.prompt} isCode label="Prompt" folded={1_000} />
            <Facts
              facts={[
                [
                  "Agent",
                  job.agent === null ? (
                    "Workspace default"
                  ) : (
                    <a key="agent" href={href(["agents", job.agent.id])}>
                      {job.agent.name}
                    </a>
                  )
                ],
                ["Created", <Age key="made" at={job.createdAt} />],
                ["Updated", <Age key="changed" at={job.updatedAt} />],
                ["Id", <Id key="id" id={job.id} />]
              ]}
            />
          </div>
        </Section>
      </div>
      <PolicySection
        of={job.id}
        what="this schedule"
        read={(signal) => call((client) => client.cronJobs.policy({ params: { id: job.id } }), signal)}
        write={(payload) => call((client) => client.cronJobs.setPolicy({ params: { id: job.id }, payload }))}
      />
    </Page>
  )
}

const Next = ({ job }: { readonly job: CronJob }) => {
  const { schedule, timezone } = job
  const { data, isLoading, problem, reload } = useLoad(
    `${schedule} ${timezone}`,
    async (signal) =>
      (
        await call(
          (client) => client.cronJobs.preview({ payload: { schedule, timezone, count: shownInstants } }),
          signal
        )
      ).data,
    { every: everyMillis }
  )
  return (
    <div class="panel stack">
      {!job.isActive && (
        <p class="muted">It is switched off. Switched on now, these would be its next instants:</p>
      )}
      {data === undefined && <ProblemNotice problem={problem} onRetry={reload} />}
      {isLoading && <Loading rows={shownInstants} />}
      {data !== undefined && <Instants instants={data} timeZone={timezone} label="Next instants" />}
      {data?.length === 0 && <p class="muted">It never fires again.</p>}
    </div>
  )
}
