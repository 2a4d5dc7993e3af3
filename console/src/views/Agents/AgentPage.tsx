import type { Agent } from "../../../../src/Schemas/Agent.ts"
import type { AgentId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { firstLine } from "../../Format.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Id } from "../../ui/Copy.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Facts, Loading, Page, Section } from "../../ui/Page.tsx"
import { PolicySection } from "../../ui/PolicySection.tsx"
import { Status } from "../../ui/Status.tsx"
import { Table } from "../../ui/Table.tsx"
import { LongText } from "../../ui/Text.tsx"
import { Age } from "../../ui/Time.tsx"
import { AgentActions } from "./AgentActions.tsx"

const everyMillis = 10_000
const shownRuns = 8
const mostJobs = 1_000
const shownJobs = 20
const named = 140

const back = { href: href(["agents"]), label: "Agents" }

/** An agent: what it is told, what it may do, and what it has done. */
export const AgentPage = ({ id }: { readonly id: AgentId }) => {
  const { data, isLoading, problem, reload } = useLoad(
    id,
    async (signal) => (await call((client) => client.agents.get({ params: { id } }), signal)).data,
    { every: everyMillis }
  )
  if (data === undefined) {
    return (
      <Page title="Agent" back={back}>
        {isLoading ? <Loading rows={8} /> : <ProblemNotice problem={problem} onRetry={reload} />}
      </Page>
    )
  }
  return (
    <Page
      title={data.name}
      back={back}
      note={data.description ?? undefined}
      actions={<AgentActions agent={data} onChange={reload} />}
    >
      {problem !== undefined && (
        <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
      )}
      {!data.isActive && (
        <Notice kind="warn" title="It is switched off">
          Tasks and messages for it are refused, and the slots of its schedules make no run.
        </Notice>
      )}
      <div class="agents-two">
        <Section title="System prompt">
          <div class="panel">
            {data.systemPrompt === null || data.systemPrompt === "" ? (
              <p class="muted">Nothing: it has no system prompt.</p>
            ) : (
              <LongText text={data.systemPrompt} isCode label="System prompt" />
            )}
          </div>
        </Section>
        <Section title="Details">
          <div class="panel">
            <About agent={data} />
          </div>
        </Section>
      </div>
      <PolicySection
        of={id}
        what="this agent"
        read={(signal) => call((client) => client.agents.policy({ params: { id } }), signal)}
        write={(payload) => call((client) => client.agents.setPolicy({ params: { id }, payload }))}
      />
      <div class="agents-two">
        <LastRuns id={id} />
        <ItsSchedules id={id} />
      </div>
    </Page>
  )
}

const About = ({ agent }: { readonly agent: Agent }) => {
  const { projectId, providerKey, workspaceId } = agent
  const { data } = useLoad(projectId ?? "", async (signal) => {
    if (projectId === null) return undefined
    const { data } = await call((client) => client.projects.list({ query: { workspaceId } }), signal)
    return data.find(({ id }) => id === projectId)?.name
  })
  return (
    <Facts
      facts={[
        ["Model", providerKey === null ? "Workspace default" : providerKey.model],
        ["Provider key", providerKey === null ? "–" : `${providerKey.name} (${providerKey.provider})`],
        ["Project", projectId === null ? "None" : (data ?? projectId)],
        ["Created", <Age key="made" at={agent.createdAt} />],
        ["Updated", <Age key="changed" at={agent.updatedAt} />],
        ["Id", <Id key="id" id={agent.id} />]
      ]}
    />
  )
}

const LastRuns = ({ id }: { readonly id: AgentId }) => {
  const workspace = workspaceId()
  const { data, isLoading, problem, reload } = useLoad(
    id,
    (signal) =>
      call(
        (client) => client.runs.list({ query: { workspaceId: workspace, agentId: id, limit: shownRuns } }),
        signal
      ),
    { every: everyMillis }
  )
  return (
    <Section title="Last runs" actions={<a href={href(["runs"], { agentId: id })}>All runs</a>}>
      {isLoading && <Loading rows={3} />}
      {data === undefined && <ProblemNotice problem={problem} onRetry={reload} />}
      {data?.data.length === 0 && <p class="panel muted">It has had no task yet.</p>}
      {data !== undefined && data.data.length > 0 && (
        <Table label="Last runs" columns={["Task", "State", "Started"]}>
          {data.data.map((run) => (
            <tr key={run.id}>
              <td class="agents-task">
                <a href={href(["runs", run.id])}>{firstLine(run.prompt, named)}</a>
              </td>
              <td>
                <Status status={run.status} />
              </td>
              <td class="muted agents-age">
                <Age at={run.createdAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Section>
  )
}

/** The contract has no list of the jobs of an agent: of a workspace's, the first thousand are looked through. */
const ItsSchedules = ({ id }: { readonly id: AgentId }) => {
  const workspace = workspaceId()
  const { data, isLoading, problem, reload } = useLoad(id, async (signal) => {
    const query = { workspaceId: workspace, limit: mostJobs }
    const { data, nextAfter } = await call((client) => client.cronJobs.list({ query }), signal)
    return { jobs: data.filter(({ agentId }) => agentId === id), hasMore: nextAfter !== null }
  })
  const jobs = data?.jobs ?? []
  return (
    <Section
      title="Schedules"
      actions={<a href={href(["schedules", "new"], { agentId: id })}>Schedule it</a>}
    >
      {isLoading && <Loading rows={3} />}
      {data === undefined && <ProblemNotice problem={problem} onRetry={reload} />}
      {data !== undefined && jobs.length === 0 && <p class="panel muted">No schedule gives it tasks.</p>}
      {jobs.length > 0 && (
        <Table label="Schedules of this agent" columns={["Name", "Schedule", "State"]}>
          {jobs.slice(0, shownJobs).map((job) => (
            <tr key={job.id}>
              <td class="agents-task">
                <a href={href(["schedules", job.id])}>{job.name}</a>
              </td>
              <td>
                <code>{job.schedule}</code> <span class="muted">{job.timezone}</span>
              </td>
              <td>{job.isActive ? "On" : <span class="muted">Off</span>}</td>
            </tr>
          ))}
        </Table>
      )}
      {(jobs.length > shownJobs || data?.hasMore === true) && (
        <p class="muted">
          There may be more: <a href={href(["schedules"])}>all schedules</a>.
        </p>
      )}
    </Section>
  )
}
