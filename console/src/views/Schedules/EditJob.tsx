import { CronJobId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { useLoad, useOnce } from "../../Load.ts"
import { go, href, route } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Loading, Page } from "../../ui/Page.tsx"
import { createOf, type Draft, draftOf, emptyDraft, updateOf } from "./Draft.ts"
import { JobForm } from "./JobForm.tsx"
import { ownZone } from "./Zones.ts"

const most = 1_000

/** What a job can name: of the agents the first thousand. */
const readOffers = async (signal: AbortSignal) => {
  const workspace = workspaceId()
  const [agents, projects] = await Promise.all([
    call((client) => client.agents.list({ query: { workspaceId: workspace, limit: most } }), signal),
    call((client) => client.projects.list({ query: { workspaceId: workspace } }), signal)
  ])
  return { agents: agents.data, projects: projects.data }
}

/** The form of a new cron job. */
export const NewJob = () => {
  const workspace = workspaceId()
  const { data, isLoading, problem, reload } = useLoad(workspace, readOffers)
  const once = useOnce()
  const save = async (draft: Draft) => {
    const payload = createOf(draft, workspace)
    const { data } = await once(payload, (key) =>
      call((client) => client.cronJobs.create({ payload }), undefined, key)
    )
    go(href(["schedules", data.id]), { replace: true })
  }
  return (
    <Page title="New schedule" back={{ href: href(["schedules"]), label: "Schedules" }}>
      {isLoading && <Loading rows={8} />}
      <ProblemNotice problem={problem} onRetry={reload} />
      {data !== undefined && (
        <JobForm
          isNew
          initial={{ ...emptyDraft, timezone: ownZone(), agentId: route.value.query.get("agentId") ?? "" }}
          offers={data}
          deed="Create schedule"
          cancelHref={href(["schedules"])}
          onSave={save}
        />
      )}
    </Page>
  )
}

/** The form of a cron job that there is. */
export const EditJob = ({ id }: { readonly id: CronJobId }) => {
  const { data, isLoading, problem, reload } = useLoad(id, async (signal) => {
    const [job, offers] = await Promise.all([
      call((client) => client.cronJobs.get({ params: { id: CronJobId.make(id) } }), signal),
      readOffers(signal)
    ])
    return { job: job.data, offers }
  })
  const toJob = href(["schedules", id])
  return (
    <Page
      title={data === undefined ? "Edit schedule" : `Edit “${data.job.name}”`}
      back={{ href: toJob, label: data?.job.name ?? "Schedule" }}
    >
      {isLoading && <Loading rows={8} />}
      <ProblemNotice problem={problem} onRetry={reload} />
      {data !== undefined && (
        <JobForm
          isNew={false}
          initial={draftOf(data.job)}
          offers={data.offers}
          deed="Save"
          cancelHref={toJob}
          onSave={async (draft) => {
            const payload = updateOf(draft, draftOf(data.job))
            await call((client) => client.cronJobs.update({ params: { id }, payload }))
            go(toJob, { replace: true })
          }}
        />
      )}
    </Page>
  )
}
