import { useMemo, useState } from "preact/hooks"
import type { Agent } from "../../../../src/Schemas/Agent.ts"
import { AgentId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { firstLine } from "../../Format.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { TextField } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { Badge } from "../../ui/Status.tsx"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"
import { useSeen } from "../../ui/useSeen.ts"
import { usePages } from "../../usePages.ts"

const everyMillis = 15_000

const NewLink = () => (
  <a class="button button-primary" href={href(["agents", "new"])}>
    New agent
  </a>
)

/** The agents of the workspace. */
export const AgentList = () => {
  const workspace = workspaceId()
  const [wanted, setWanted] = useState("")
  const { data, isLoading, more, problem, reload } = usePages<Agent>(
    workspace,
    ({ after, limit }, signal) =>
      call(
        (client) =>
          client.agents.list({
            query: {
              workspaceId: workspace,
              limit,
              ...(after !== undefined && { after: AgentId.make(after) })
            }
          }),
        signal
      ),
    { every: everyMillis }
  )
  const rows = data?.rows ?? []
  const found = useMemo(() => {
    const text = wanted.trim().toLowerCase()
    return rows.filter(({ description, name }) =>
      [name, description ?? ""].some((each) => each.toLowerCase().includes(text))
    )
  }, [rows, wanted])
  return (
    <Page
      title="Agents"
      note={
        data === undefined
          ? "…"
          : `${rows.length}${data.hasMore ? " and more" : ""} ${rows.length === 1 ? "agent" : "agents"}`
      }
      actions={<NewLink />}
    >
      {problem !== undefined && data !== undefined && (
        <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
      )}
      {data === undefined && <ProblemNotice problem={problem} onRetry={reload} />}
      {isLoading && <Loading rows={6} />}
      {data !== undefined && rows.length === 0 && (
        <Empty title="There is no agent yet.">
          <p>An agent is a named behaviour: what it is told, which model answers, and what it may do.</p>
          <NewLink />
        </Empty>
      )}
      {rows.length > 0 && (
        <div class="stack">
          {rows.length > 8 && (
            <div class="agents-find">
              <TextField
                label="Find by name or description"
                type="search"
                value={wanted}
                onText={setWanted}
              />
            </div>
          )}
          <Table
            stacks
            label="Agents"
            columns={["Name", "State", "Model", "Connectors", "Autonomy", "Updated"]}
          >
            {found.map((agent) => (
              <Row key={agent.id} agent={agent} />
            ))}
          </Table>
          {found.length === 0 && <p class="muted">None of those that are loaded is called so.</p>}
          {data?.hasMore === true && <Button onClick={more}>Load more</Button>}
        </div>
      )}
    </Page>
  )
}

const levels = {
  supervised: "Supervised",
  "semi-autonomous": "Semi-autonomous",
  autonomous: "Autonomous"
} as const

const described = 120

const Row = ({ agent }: { readonly agent: Agent }) => {
  const { isSeen, ref } = useSeen<HTMLTableRowElement>()
  const { id } = agent
  const { data, problem } = useLoad(`${id} ${isSeen}`, async (signal) =>
    isSeen ? (await call((client) => client.agents.policy({ params: { id } }), signal)).data : undefined
  )
  const connectors = data?.connectorIds
  return (
    <tr ref={ref}>
      <td class="agents-name">
        <a href={href(["agents", id])} title={agent.name}>
          {agent.name}
        </a>
        <div class="muted">{firstLine(agent.description ?? "", described)}</div>
      </td>
      <td>
        <Badge tone={agent.isActive ? "ok" : "idle"} mark={agent.isActive ? "✓" : "⊘"}>
          {agent.isActive ? "Active" : "Off"}
        </Badge>
      </td>
      <td>
        {agent.providerKey === null ? (
          <span class="muted">Workspace default</span>
        ) : (
          <>
            <div>{agent.providerKey.model}</div>
            <div class="muted">{agent.providerKey.name}</div>
          </>
        )}
      </td>
      <td data-label="Connectors: ">
        {problem !== undefined && <span class="muted">{problem.message}</span>}
        {data !== undefined &&
          (connectors === null || connectors === undefined
            ? "All"
            : connectors.length === 0
              ? "None"
              : `${connectors.length} of them`)}
      </td>
      <td data-label="Autonomy: ">
        {data === undefined ? (
          ""
        ) : data.autonomyLevel === null ? (
          <span class="muted">Not set</span>
        ) : (
          levels[data.autonomyLevel]
        )}
      </td>
      <td class="muted agents-age">
        <Age at={agent.updatedAt} />
      </td>
    </tr>
  )
}
