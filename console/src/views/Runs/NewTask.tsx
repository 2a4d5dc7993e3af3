import { useEffect, useRef, useState } from "preact/hooks"
import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { call, newKey, Problem } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { makeOnce, type Once } from "../../Once.ts"
import { whenLeft, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Select, TextArea, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { ConnectorChoice } from "./ConnectorChoice.tsx"
import { useChoices } from "./Names.ts"
import { type Draft, draftProblem, emptyDraft, taskOf } from "./Task.ts"

const most = 1_000
const fields = [
  "prompt",
  "agentId",
  "projectId",
  "providerKeyId",
  "selectedModel",
  "autonomyLevel",
  "connectorIds",
  "runAt"
]

const autonomy = [
  { value: "", label: "As the agent has it" },
  { value: "supervised", label: "Supervised: asks before every tool call" },
  { value: "semi-autonomous", label: "Semi-autonomous: asks before what changes something" },
  { value: "autonomous", label: "Autonomous: never asks" }
]

/** What was written and not sent, of each workspace: closing the dialog loses nothing. */
const drafts = new Map<string, Draft>()

const sending = new Map<string, Once>()

/** Of each workspace: the same task sent again is the same run, also from a dialog that was closed meanwhile. */
const onceOf = (workspace: string): Once => {
  const once = sending.get(workspace) ?? makeOnce(newKey)
  sending.set(workspace, once)
  return once
}

whenLeft(() => {
  drafts.clear()
  sending.clear()
})

interface Props {
  readonly agentId?: string
  readonly projectId?: string
  readonly onClose: () => void
  readonly onSent: (id: RunId) => void
}

const useOffers = () => {
  const workspace = workspaceId()
  const { data, problem } = useLoad(workspace, async (signal) => {
    const query = { workspaceId: workspace, limit: most }
    const [agents, connectors, keys, projects] = await Promise.all([
      call((client) => client.agents.list({ query }), signal),
      call((client) => client.connectors.list({ query }), signal),
      call((client) => client.providerKeys.list({ query: { workspaceId: workspace } }), signal),
      call((client) => client.projects.list({ query: { workspaceId: workspace } }), signal)
    ])
    return { agents: agents.data, connectors: connectors.data, keys: keys.data, projects: projects.data }
  })
  return { offers: data ?? { agents: [], connectors: [], keys: [], projects: [] }, problem }
}

/** Writes a task and sends it: once, however often that is tried. */
export const NewTask = ({ agentId, projectId, onClose, onSent }: Props) => {
  const workspace = workspaceId()
  const { offers, problem: offersProblem } = useOffers()
  const [draft, setDraft] = useState<Draft>(
    () => drafts.get(workspace) ?? { ...emptyDraft, agentId: agentId ?? "", projectId: projectId ?? "" }
  )
  const form = useRef<HTMLFormElement>(null)
  const change = (changed: Partial<Draft>) => {
    const next = { ...draft, ...changed }
    drafts.set(workspace, next)
    setDraft(next)
  }

  const send = useAction(async () => {
    const sentence = draftProblem(draft)
    if (sentence !== undefined) throw new Problem("InvalidInput", sentence)
    const payload = taskOf(draft, workspace)
    const { data } = await onceOf(workspace)(payload, (key) =>
      call((client) => client.tasks.create({ payload }), undefined, key)
    )
    drafts.delete(workspace)
    onSent(data.id)
  })

  useEffect(() => form.current?.querySelector("textarea")?.focus(), [])

  const agents = useChoices(offers.agents, "No agent: the workspace's own behaviour", draft.agentId)
  const projects = useChoices(offers.projects, "No project", draft.projectId)
  const keys = useChoices(offers.keys, "As the agent and the workspace have it", draft.providerKeyId)
  const { problem } = send
  return (
    <Dialog title="New task" onClose={onClose} isWide>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          send.run()
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          send.run()
        }}
      >
        <TextArea
          label="What is to be done"
          name="prompt"
          rows={7}
          value={draft.prompt}
          problem={problem}
          onText={(prompt) => change({ prompt })}
        />
        <div class="runs-two">
          <Select
            label="Agent"
            name="agentId"
            value={draft.agentId}
            choices={agents}
            problem={problem}
            onChoice={(chosen) => change({ agentId: chosen })}
          />
          <Select
            label="Autonomy"
            name="autonomyLevel"
            value={draft.autonomyLevel}
            choices={autonomy}
            problem={problem}
            onChoice={(autonomyLevel) => change({ autonomyLevel })}
          />
        </div>
        <details class="runs-more">
          <summary>Model, connectors, project and time</summary>
          <div class="runs-two">
            <Select
              label="Provider key"
              name="providerKeyId"
              value={draft.providerKeyId}
              choices={keys}
              problem={problem}
              onChoice={(providerKeyId) => change({ providerKeyId })}
            />
            <TextField
              label="Model"
              name="selectedModel"
              value={draft.model}
              placeholder="the key's own"
              problem={problem}
              onText={(model) => change({ model })}
            />
            <Select
              label="Project"
              name="projectId"
              value={draft.projectId}
              choices={projects}
              problem={problem}
              onChoice={(chosen) => change({ projectId: chosen })}
            />
            <TextField
              label="Not before"
              name="runAt"
              type="datetime-local"
              value={draft.runAt}
              hint="On your clock. Empty: at once."
              problem={problem}
              onText={(runAt) => change({ runAt })}
            />
          </div>
          <ConnectorChoice
            connectors={offers.connectors}
            chosen={draft.connectorIds}
            problem={problem}
            onChoice={(connectorIds) => change({ connectorIds })}
          />
        </details>
        <ProblemNotice problem={offersProblem} />
        {isOfForm(problem, fields) && <ProblemNotice problem={problem} />}
        <footer>
          <span class="runs-hint">Ctrl or ⌘ + Enter sends</span>
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={send.isBusy}>
            Send task
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
