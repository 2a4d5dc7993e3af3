import { useState } from "preact/hooks"
import { type Connector, nameOfConnector } from "../../../../src/Schemas/Connector.ts"
import type { ConnectorId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Id } from "../../ui/Copy.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Checkbox } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Facts, Loading, Page, Section } from "../../ui/Page.tsx"
import { Age } from "../../ui/Time.tsx"
import { EditConnector } from "./EditConnector.tsx"
import { State } from "./State.tsx"
import { ToolList } from "./ToolList.tsx"

const lookMillis = 10_000
const back = { href: href(["connectors"]), label: "Connectors" }

const Tools = ({ connector, stamp }: { readonly connector: Connector; readonly stamp: number }) => {
  const { data, isLoading, problem, reload } = useLoad(
    `${connector.id} ${connector.status} ${stamp}`,
    (signal) => call((client) => client.connectors.tools({ params: { id: connector.id } }), signal)
  )
  if (isLoading) return <Loading rows={3} />
  if (data === undefined) return <ProblemNotice problem={problem} onRetry={reload} />
  const { error, tools } = data.data
  if (error !== null) return <p class="muted">They can't be listed while it can't be used.</p>
  return tools.length === 0 ? <Empty title="It brings no tools." /> : <ToolList tools={tools} />
}

const Removal = ({ connector, onClose }: { readonly connector: Connector; readonly onClose: () => void }) => {
  const remove = useAction(async () => {
    await call((client) => client.connectors.remove({ params: { id: connector.id } }))
    go(href(["connectors"]), { replace: true })
  })
  return (
    <Confirm
      title={`Delete ${nameOfConnector(connector)}?`}
      deed="Delete"
      problem={remove.problem}
      onConfirm={() => remove.run()}
      onClose={onClose}
    >
      <p>Its secrets are gone. A run that waits for one of its tools can't go on, and fails.</p>
    </Confirm>
  )
}

/** A connector: whether it can be used and why not, and its tools. */
export const ConnectorPage = ({ id }: { readonly id: ConnectorId }) => {
  const [dialog, setDialog] = useState<"edit" | "remove">()
  const [stamp, setStamp] = useState(0)
  const { data, isLoading, problem, reload } = useLoad(
    id,
    async (signal) => {
      const [connector, health] = await Promise.all([
        call((client) => client.connectors.get({ params: { id } }), signal),
        call((client) => client.connectors.health({ params: { id } }), signal)
      ])
      return { connector: connector.data, health: health.data }
    },
    { every: lookMillis }
  )
  const changed = () => {
    setStamp(stamp + 1)
    reload()
  }
  const check = useAction(async () => {
    await call((client) => client.connectors.check({ params: { id } }))
    changed()
  })
  const switchTo = useAction(async (status: "ACTIVE" | "INACTIVE") => {
    await call((client) => client.connectors.update({ params: { id }, payload: { status } }))
    changed()
  })
  if (data === undefined) {
    return (
      <Page title="Connector" back={back}>
        {isLoading && <Loading />}
        <ProblemNotice problem={problem} {...(problem?.tag !== "NotFound" && { onRetry: reload })} />
      </Page>
    )
  }
  const { connector, health } = data
  const server = [health.serverName, health.serverVersion].filter((each) => each !== null).join(" ")
  return (
    <Page
      title={nameOfConnector(connector)}
      back={back}
      note={<Id id={id} />}
      actions={
        <>
          <Checkbox
            isSwitch
            label="Active"
            checked={connector.status !== "INACTIVE"}
            disabled={switchTo.isBusy}
            onCheck={(isOn) => switchTo.run(isOn ? "ACTIVE" : "INACTIVE")}
          />
          <Button isBusy={check.isBusy} onClick={() => check.run()}>
            Check now
          </Button>
          <Button onClick={() => setDialog("edit")}>Edit</Button>
          <Button kind="danger" onClick={() => setDialog("remove")}>
            Delete
          </Button>
        </>
      }
    >
      <div class="stack">
        <ProblemNotice problem={check.problem ?? switchTo.problem ?? problem} />
        {health.error !== null && (
          <Notice kind="bad" title="It can't be used.">
            {health.error.message} <span class="muted">({health.error.code})</span>
          </Notice>
        )}
        <div class="panel">
          <Facts
            facts={[
              ["State", <State key="state" status={connector.status} />],
              ["Last used or checked", <Age key="checked" at={health.checkedAt} />],
              ["Kind", connector.type ?? connector.providerId],
              ["Server", server === "" ? "Not known yet" : server],
              ["Protocol", health.protocolVersion ?? "Not known yet"],
              ["Secret", connector.hasCredential ? "Set, not shown" : "None"],
              ["Scopes", connector.grantedScopes.length === 0 ? "None" : connector.grantedScopes.join(", ")],
              ["Created", <Age key="made" at={connector.createdAt} />]
            ]}
          />
        </div>
      </div>
      <Section title="Tools">
        <Tools connector={connector} stamp={stamp} />
      </Section>
      {dialog === "edit" && (
        <EditConnector connector={connector} onChanged={changed} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "remove" && <Removal connector={connector} onClose={() => setDialog(undefined)} />}
    </Page>
  )
}
