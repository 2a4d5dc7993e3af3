import type { AgentId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { useLoad, useOnce } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Loading, Page } from "../../ui/Page.tsx"
import { AgentForm } from "./AgentForm.tsx"
import { createOf, type Draft, draftOf, emptyDraft, updateOf } from "./Draft.ts"

/** What an agent can name. */
const readOffers = async (signal: AbortSignal) => {
  const query = { workspaceId: workspaceId() }
  const [keys, projects] = await Promise.all([
    call((client) => client.providerKeys.list({ query }), signal),
    call((client) => client.projects.list({ query }), signal)
  ])
  return { keys: keys.data, projects: projects.data }
}

/** The form of a new agent. */
export const NewAgent = () => {
  const workspace = workspaceId()
  const { data, isLoading, problem, reload } = useLoad(workspace, readOffers)
  const once = useOnce()
  const save = async (draft: Draft) => {
    const payload = createOf(draft, workspace)
    const { data } = await once(payload, (key) =>
      call((client) => client.agents.create({ payload }), undefined, key)
    )
    go(href(["agents", data.id]), { replace: true })
  }
  return (
    <Page title="New agent" back={{ href: href(["agents"]), label: "Agents" }}>
      {isLoading && <Loading rows={8} />}
      <ProblemNotice problem={problem} onRetry={reload} />
      {data !== undefined && (
        <AgentForm
          isNew
          initial={emptyDraft}
          offers={data}
          deed="Create agent"
          cancelHref={href(["agents"])}
          onSave={save}
        />
      )}
    </Page>
  )
}

/** The form of an agent that there is. */
export const EditAgent = ({ id }: { readonly id: AgentId }) => {
  const { data, isLoading, problem, reload } = useLoad(id, async (signal) => {
    const [agent, offers] = await Promise.all([
      call((client) => client.agents.get({ params: { id } }), signal),
      readOffers(signal)
    ])
    return { agent: agent.data, offers }
  })
  const toAgent = href(["agents", id])
  return (
    <Page
      title={data === undefined ? "Edit agent" : `Edit “${data.agent.name}”`}
      back={{ href: toAgent, label: data?.agent.name ?? "Agent" }}
    >
      {isLoading && <Loading rows={8} />}
      <ProblemNotice problem={problem} onRetry={reload} />
      {data !== undefined && (
        <AgentForm
          isNew={false}
          initial={draftOf(data.agent)}
          offers={data.offers}
          deed="Save"
          cancelHref={toAgent}
          onSave={async (draft) => {
            const payload = updateOf(draft, draftOf(data.agent))
            await call((client) => client.agents.update({ params: { id }, payload }))
            go(toAgent, { replace: true })
          }}
        />
      )}
    </Page>
  )
}
