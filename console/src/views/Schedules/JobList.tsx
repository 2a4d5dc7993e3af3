import { useMemo, useState } from "preact/hooks"
import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import { CronJobId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { TextField } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import { usePages } from "../../usePages.ts"
import { JobRow } from "./JobRow.tsx"

const everyMillis = 15_000

const NewLink = () => (
  <a class="button button-primary" href={href(["schedules", "new"])}>
    New schedule
  </a>
)

const isFound = (text: string) => {
  const wanted = text.trim().toLowerCase()
  return ({ agent, name, schedule, timezone }: CronJob) =>
    [name, schedule, timezone, agent?.name ?? ""].some((each) => each.toLowerCase().includes(wanted))
}

/** The cron jobs of the workspace: when each comes next, and what became of its last slots. */
export const JobList = () => {
  const workspace = workspaceId()
  const [wanted, setWanted] = useState("")
  const { data, isLoading, more, problem, reload } = usePages<CronJob>(
    workspace,
    ({ after, limit }, signal) =>
      call(
        (client) =>
          client.cronJobs.list({
            query: {
              workspaceId: workspace,
              limit,
              ...(after !== undefined && { after: CronJobId.make(after) })
            }
          }),
        signal
      ),
    { every: everyMillis }
  )
  const rows = data?.rows ?? []
  const found = useMemo(() => rows.filter(isFound(wanted)), [rows, wanted])
  const on = rows.filter(({ isActive }) => isActive).length
  return (
    <Page
      title="Schedules"
      note={data === undefined ? "…" : `${on} on, ${rows.length - on} off${data.hasMore ? ", and more" : ""}`}
      actions={<NewLink />}
    >
      {problem !== undefined && data !== undefined && (
        <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
      )}
      {data === undefined && <ProblemNotice problem={problem} onRetry={reload} />}
      {isLoading && <Loading rows={6} />}
      {data !== undefined && rows.length === 0 && (
        <Empty title="Nothing is scheduled yet.">
          <p>A schedule gives an agent its task again and again: each instant makes one run.</p>
          <NewLink />
        </Empty>
      )}
      {rows.length > 0 && (
        <div class="stack schedules-list">
          {rows.length > 8 && (
            <div class="schedules-find">
              <TextField
                label="Find by name, expression, zone or agent"
                type="search"
                value={wanted}
                onText={setWanted}
              />
            </div>
          )}
          <Table
            stacks
            label="Schedules"
            columns={["Name", "Schedule", "Next", "Last slots", <span key="on">On</span>]}
          >
            {found.map((job) => (
              <JobRow key={job.id} job={job} onChange={reload} />
            ))}
          </Table>
          {found.length === 0 && <p class="muted">None of those that are loaded is called so.</p>}
          {data?.hasMore === true && <Button onClick={more}>Load more</Button>}
        </div>
      )}
    </Page>
  )
}
