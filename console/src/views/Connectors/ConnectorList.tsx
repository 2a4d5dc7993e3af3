import { useState } from "preact/hooks"
import { type Connector, nameOfConnector } from "../../../../src/Schemas/Connector.ts"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"
import { NewConnector } from "./NewConnector.tsx"
import { State } from "./State.tsx"

const lookMillis = 10_000
const pageSize = 100
const mostShown = 1_000

/** Why one in `ERROR` can't be used, as its last use has shown. */
const Reason = ({ connector }: { readonly connector: Connector }) => {
  const { data } = useLoad(`${connector.id} ${connector.updatedAt.getTime()}`, (signal) =>
    call((client) => client.connectors.health({ params: { id: connector.id } }), signal)
  )
  return <span class="connectors-reason">{data?.data.error?.message ?? ""}</span>
}

const Row = ({ connector }: { readonly connector: Connector }) => (
  <tr>
    <td>
      <a href={href(["connectors", connector.id])}>{nameOfConnector(connector)}</a>
      {connector.status === "ERROR" && <Reason connector={connector} />}
    </td>
    <td>
      <State status={connector.status} />
    </td>
    <td>{connector.type ?? connector.providerId}</td>
    <td data-label="Secret">{connector.hasCredential ? "Set" : <span class="muted">None</span>}</td>
    <td>
      <Age at={connector.createdAt} />
    </td>
  </tr>
)

/** The connectors of the workspace, and how they are. */
export const ConnectorList = () => {
  const workspace = workspaceId()
  const [limit, setLimit] = useState(pageSize)
  const [adds, setAdds] = useState(false)
  const { data, isLoading, problem, reload } = useLoad(
    `${workspace} ${limit}`,
    (signal) =>
      call((client) => client.connectors.list({ query: { workspaceId: workspace, limit } }), signal),
    { every: lookMillis }
  )
  const add = (
    <Button kind="primary" onClick={() => setAdds(true)}>
      New connector
    </Button>
  )
  return (
    <Page title="Connectors" note="They bring tools of other services to agents." actions={add}>
      <ProblemNotice problem={problem} onRetry={reload} />
      {isLoading && <Loading />}
      {data?.data.length === 0 && (
        <Empty title="There are no connectors yet.">
          <p>Connect an MCP server, and agents of this workspace can use its tools.</p>
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <Table stacks label="Connectors" columns={["Name", "State", "Kind", "Secret", "Created"]}>
          {data.data.map((connector) => (
            <Row key={connector.id} connector={connector} />
          ))}
        </Table>
      )}
      {data !== undefined && data.nextAfter !== null && limit < mostShown && (
        <Button kind="quiet" onClick={() => setLimit(mostShown)}>
          Show more
        </Button>
      )}
      {adds && <NewConnector onClose={() => setAdds(false)} />}
    </Page>
  )
}
