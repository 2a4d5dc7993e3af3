import { useId, useMemo, useState } from "preact/hooks"
import type { Agent } from "../../../../src/Schemas/Agent.ts"
import type { Project } from "../../../../src/Schemas/Project.ts"
import type { Problem } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { Button } from "../../ui/Button.tsx"
import { type Choice, Select, TextArea, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm, problemOf } from "../../ui/Problems.ts"
import type { Draft } from "./Draft.ts"
import { Instants } from "./Instants.tsx"
import { type Preview, usePreview } from "./usePreview.ts"
import { words } from "./Words.ts"
import { isKnownZone, ownZone, zones } from "./Zones.ts"

const fields = ["name", "description", "prompt", "agentId", "projectId", "schedule", "timezone"]
const shownInstants = 5

const examples = [
  { schedule: "*/15 * * * *", label: "every 15 minutes" },
  { schedule: "0 * * * *", label: "hourly" },
  { schedule: "0 9 * * *", label: "daily at 09:00" },
  { schedule: "0 9 * * MON-FRI", label: "weekdays at 09:00" },
  { schedule: "0 6 1 * *", label: "monthly" }
]

export interface Offers {
  readonly agents: ReadonlyArray<Agent>
  readonly projects: ReadonlyArray<Project>
}

interface Props {
  readonly initial: Draft
  readonly offers: Offers
  readonly deed: string
  /** Projects are said when a job is made, and stay. */
  readonly isNew: boolean
  readonly cancelHref: string
  readonly onSave: (draft: Draft) => Promise<unknown>
}

const choicesOf = (
  named: ReadonlyArray<{ readonly id: string; readonly name: string }>,
  none: string,
  chosen: string
): ReadonlyArray<Choice> => [
  { value: "", label: none },
  ...named.map(({ id, name }) => ({ value: id, label: name })),
  ...(chosen === "" || named.some(({ id }) => id === chosen) ? [] : [{ value: chosen, label: chosen }])
]

/** What a cron job is, to be written, with its instants while it is. */
export const JobForm = ({ initial, offers, deed, isNew, cancelHref, onSave }: Props) => {
  const [draft, setDraft] = useState(initial)
  const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed })
  const save = useAction(() => onSave(draft))
  const preview = usePreview(draft.schedule, draft.timezone, shownInstants)
  const { problem } = save
  const inactive = offers.agents.find(({ id, isActive }) => id === draft.agentId && !isActive)
  return (
    <form
      class="schedules-form"
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
          problem={problem}
          autofocus={isNew}
          onText={(name) => change({ name })}
        />
        <TextArea
          label="Task"
          name="prompt"
          rows={7}
          hint="What the agent is told each time."
          value={draft.prompt}
          problem={problem}
          onText={(prompt) => change({ prompt })}
        />
        <Select
          label="Agent"
          name="agentId"
          value={draft.agentId}
          choices={choicesOf(offers.agents, "No agent: the workspace's default", draft.agentId)}
          hint={inactive === undefined ? undefined : "This agent is switched off: its slots make no run."}
          problem={problem}
          onChoice={(agentId) => change({ agentId })}
        />
        {isNew && offers.projects.length > 0 && (
          <Select
            label="Project"
            name="projectId"
            value={draft.projectId}
            choices={choicesOf(offers.projects, "No project", draft.projectId)}
            problem={problem}
            onChoice={(projectId) => change({ projectId })}
          />
        )}
        <TextField
          label="Description"
          name="description"
          value={draft.description}
          hint="For people; the agent is not told."
          problem={problem}
          onText={(description) => change({ description })}
        />
      </div>
      <div class="panel stack">
        <When draft={draft} problem={problem} preview={preview} onChange={change} />
      </div>
      <div class="stack schedules-form-foot">
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

interface WhenProps {
  readonly draft: Draft
  readonly problem: Problem | undefined
  readonly preview: Preview
  readonly onChange: (changed: Partial<Draft>) => void
}

const When = ({ draft, problem, preview, onChange }: WhenProps) => {
  const list = useId()
  const all = useMemo(zones, [])
  const own = ownZone()
  const means = words(draft.schedule)
  // What the preview says is of what is written now; what saving said may be of something else.
  const said = (name: string) => (problemOf(preview.problem, name) === undefined ? problem : preview.problem)
  return (
    <>
      <TextField
        label="Schedule"
        name="schedule"
        value={draft.schedule}
        spellcheck={false}
        placeholder="0 9 * * MON-FRI"
        hint={
          means === undefined
            ? "Minute, hour, day, month and day of the week; with a sixth field in front, seconds."
            : `${means.charAt(0).toUpperCase()}${means.slice(1)}.`
        }
        problem={said("schedule")}
        onText={(schedule) => onChange({ schedule })}
      />
      <fieldset class="schedules-examples" aria-label="Examples">
        {examples.map(({ label, schedule }) => (
          <Button key={schedule} onClick={() => onChange({ schedule })}>
            {label}
          </Button>
        ))}
      </fieldset>
      <TextField
        label="Time zone"
        name="timezone"
        list={list}
        value={draft.timezone}
        spellcheck={false}
        problem={said("timezone")}
        onText={(timezone) => onChange({ timezone })}
      />
      <datalist id={list}>
        {all.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      {draft.timezone !== own && (
        <div>
          <Button kind="quiet" onClick={() => onChange({ timezone: own })}>
            Use mine: {own}
          </Button>
        </div>
      )}
      <section class="schedules-preview" aria-label="Preview" aria-busy={!preview.isCurrent}>
        <h2>The next {shownInstants} instants</h2>
        <PreviewBody preview={preview} timeZone={draft.timezone} />
      </section>
    </>
  )
}

const PreviewBody = ({ preview, timeZone }: { readonly preview: Preview; readonly timeZone: string }) => {
  const { instants, isCurrent, problem } = preview
  if (problem !== undefined) {
    return isOfForm(problem, ["schedule", "timezone"]) ? (
      <ProblemNotice problem={problem} />
    ) : (
      <p class="muted">None, as it is written.</p>
    )
  }
  if (instants === undefined) return <p class="muted">Write a schedule to see when it fires.</p>
  return (
    <div class={isCurrent ? undefined : "schedules-stale"}>
      <Instants
        instants={instants}
        timeZone={isKnownZone(timeZone) ? timeZone : "UTC"}
        label="Next instants"
      />
      {instants.length === 0 && <p class="muted">None: it never fires.</p>}
    </div>
  )
}
