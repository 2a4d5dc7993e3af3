import { useState } from "preact/hooks"
import { nameOfConnector } from "../../../src/Schemas/Connector.ts"
import type { Policy, PutPolicy } from "../../../src/Schemas/Policy.ts"
import { call } from "../Client.ts"
import { useLoad } from "../Load.ts"
import { isOwner, workspaceId } from "../Session.ts"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { ProblemNotice } from "./Notice.tsx"
import { Facts, Loading, Section } from "./Page.tsx"
import { autonomyWords, PolicyForm } from "./PolicyForm.tsx"
import { ruleWords } from "./PolicyRules.tsx"
import "./Policy.css"

interface Props {
  /** The id of what has the policy, and what people call it: "this agent". */
  readonly of: string
  readonly what: string
  readonly read: (signal: AbortSignal) => Promise<{ readonly data: Policy }>
  readonly write: (policy: PutPolicy) => Promise<unknown>
}

const mostConnectors = 1_000

/** What the policy of an agent or of a schedule says, and the form that replaces it. */
export const PolicySection = ({ of, what, read, write }: Props) => {
  const [isOpen, setOpen] = useState(false)
  const { data, isLoading, problem, reload } = useLoad(of, async (signal) => (await read(signal)).data)
  return (
    <Section
      title="Policy"
      actions={data !== undefined && <Button onClick={() => setOpen(true)}>Change policy…</Button>}
    >
      {isLoading && <Loading rows={2} />}
      {data === undefined && <ProblemNotice problem={problem} onRetry={reload} />}
      {data !== undefined && <Said policy={data} what={what} />}
      {data !== undefined && isOpen && (
        <Dialog title={`Policy of ${what}`} onClose={() => setOpen(false)} isWide>
          <p class="muted">
            Runs take it when they are made. It is replaced as a whole
            {isOwner.value ? "." : "; as a member you can only restrict what it was."}
          </p>
          <PolicyForm
            policy={data}
            onSave={async (policy) => {
              await write(policy)
              reload()
            }}
            onClose={() => setOpen(false)}
          />
        </Dialog>
      )}
    </Section>
  )
}

const isSilent = ({ autonomyLevel, connectorIds, maxSeconds, maxSteps, tools }: Policy): boolean =>
  tools.length === 0 && [autonomyLevel, connectorIds, maxSeconds, maxSteps].every((each) => each === null)

const Said = ({ policy, what }: { readonly policy: Policy; readonly what: string }) => {
  const { autonomyLevel, connectorIds, maxSeconds, maxSteps, tools } = policy
  if (isSilent(policy)) {
    return (
      <p class="panel muted">
        Nothing is said for {what}: its runs ask before what changes something, as far as nothing else says
        otherwise.
      </p>
    )
  }
  return (
    <div class="panel stack">
      <Facts
        facts={[
          ["Autonomy", autonomyLevel === null ? "Not set here" : autonomyWords[autonomyLevel]],
          ["Connectors", connectorIds === null ? "All" : <Connectors key="connectors" ids={connectorIds} />],
          ["Steps, at most", maxSteps ?? "As the service has it"],
          ["Working seconds, at most", maxSeconds ?? "As the service has it"]
        ]}
      />
      {tools.length > 0 && (
        <ol class="policy-said">
          {tools.map(({ match, rule }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two rules may be alike
            <li key={index}>
              <code>{match}</code> <span class="muted">{ruleWords[rule]}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

const Connectors = ({ ids }: { readonly ids: ReadonlyArray<string> }) => {
  const workspace = workspaceId()
  const { data } = useLoad(workspace, async (signal) => {
    const query = { workspaceId: workspace, limit: mostConnectors }
    return (await call((client) => client.connectors.list({ query }), signal)).data
  })
  if (ids.length === 0) return <>None</>
  const names = ids.map((id) => {
    const connector = data?.find((each) => each.id === id)
    return connector === undefined ? id : nameOfConnector(connector)
  })
  return <>{names.join(", ")}</>
}
