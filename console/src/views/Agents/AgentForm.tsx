import { useState } from "preact/hooks"
import type { Project } from "../../../../src/Schemas/Project.ts"
import type { ProviderKey } from "../../../../src/Schemas/ProviderKey.ts"
import { useAction } from "../../Load.ts"
import { href } from "../../Router.ts"
import { isOwner } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Select, TextArea, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import type { Draft } from "./Draft.ts"

const fields = ["name", "description", "systemPrompt", "providerKeyId", "projectId"]
const mostPrompt = 10_000

interface Props {
  readonly initial: Draft
  readonly offers: { readonly keys: ReadonlyArray<ProviderKey>; readonly projects: ReadonlyArray<Project> }
  readonly deed: string
  /** Its project is said when an agent is made, and stays. */
  readonly isNew: boolean
  readonly cancelHref: string
  readonly onSave: (draft: Draft) => Promise<unknown>
}

/** What an agent is, to be written. */
export const AgentForm = ({ initial, offers, deed, isNew, cancelHref, onSave }: Props) => {
  const [draft, setDraft] = useState(initial)
  const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed })
  const save = useAction(() => onSave(draft))
  const { problem } = save
  const length = Array.from(draft.systemPrompt).length
  return (
    <form
      class="agents-form"
      onSubmit={(event) => {
        event.preventDefault()
        save.run()
      }}
    >
      <div class="panel stack">
        <TextField
          label="Name"
          name="name"
          value={draft.name}
          autofocus={isNew}
          problem={problem}
          onText={(name) => change({ name })}
        />
        <TextField
          label="Description"
          name="description"
          value={draft.description}
          hint="For people; it is not told."
          problem={problem}
          onText={(description) => change({ description })}
        />
        <Select
          label="Provider key"
          name="providerKeyId"
          value={draft.providerKeyId}
          choices={[
            { value: "", label: "The workspace's default" },
            ...offers.keys.map(({ id, model, name }) => ({ value: id, label: `${name}: ${model}` }))
          ]}
          hint={
            isOwner.value ? (
              <>
                Which model answers. Keys are kept under <a href={href(["models"])}>Models</a>.
              </>
            ) : (
              "Which model answers: an owner of the workspace says that."
            )
          }
          disabled={!isOwner.value}
          problem={problem}
          onChoice={(providerKeyId) => change({ providerKeyId })}
        />
        {isNew && offers.projects.length > 0 && (
          <Select
            label="Project"
            name="projectId"
            value={draft.projectId}
            choices={[
              { value: "", label: "No project" },
              ...offers.projects.map(({ id, name }) => ({ value: id, label: name }))
            ]}
            problem={problem}
            onChoice={(projectId) => change({ projectId })}
          />
        )}
        <p class="muted">
          {isNew
            ? "What it may do, with which connectors and how freely, is its policy: set on its page once it is made."
            : "What it may do, with which connectors and how freely, is its policy, on its page."}
        </p>
      </div>
      <div class="panel">
        <TextArea
          label="System prompt"
          name="systemPrompt"
          rows={18}
          value={draft.systemPrompt}
          hint={`What it is told before every task and message. ${length.toLocaleString("en")} of ${mostPrompt.toLocaleString("en")} characters.`}
          problem={problem}
          onText={(systemPrompt) => change({ systemPrompt })}
        />
      </div>
      <div class="stack agents-form-foot">
        {isOfForm(problem, fields) && <ProblemNotice problem={problem} />}
        <div class="row">
          <Button kind="primary" type="submit" isBusy={save.isBusy}>
            {deed}
          </Button>
          <a class="button" href={cancelHref}>
            Cancel
          </a>
        </div>
      </div>
    </form>
  )
}
