import { useState } from "preact/hooks"
import { AutonomyLevel } from "../../../src/Schemas/Autonomy.ts"
import type { Policy, PutPolicy } from "../../../src/Schemas/Policy.ts"
import { Problem } from "../Client.ts"
import { useAction } from "../Load.ts"
import { Button } from "./Button.tsx"
import { Select, TextField } from "./Field.tsx"
import { ProblemNotice } from "./Notice.tsx"
import { PolicyConnectors } from "./PolicyConnectors.tsx"
import { type Draft, draftOf, draftProblem, putOf, rulings } from "./PolicyDraft.ts"
import { PolicyRules } from "./PolicyRules.tsx"
import { isOfForm } from "./Problems.ts"
import { Badge } from "./Status.tsx"
import { useTools } from "./useTools.ts"

const fields = ["autonomyLevel", "connectorIds", "tools", "maxSteps", "maxSeconds"]

export const autonomyWords: Readonly<Record<AutonomyLevel, string>> = {
  supervised: "Supervised: asks before every tool call",
  "semi-autonomous": "Semi-autonomous: asks before what changes something",
  autonomous: "Autonomous: never asks"
}

const levels = [
  { value: "", label: "Not set here" },
  ...AutonomyLevel.literals.map((value) => ({ value, label: autonomyWords[value] }))
]

interface Props {
  readonly policy: Policy
  readonly onSave: (policy: PutPolicy) => Promise<unknown>
  readonly onClose: () => void
}

/** The whole of a policy, to be replaced: what stays empty says nothing. */
export const PolicyForm = ({ policy, onSave, onClose }: Props) => {
  const [draft, setDraft] = useState(() => draftOf(policy))
  const { tools, problem: toolsProblem } = useTools()
  const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed })
  const save = useAction(async () => {
    const sentence = draftProblem(draft)
    if (sentence !== undefined) throw new Problem("InvalidInput", sentence)
    await onSave(putOf(draft))
  })
  const { problem } = save
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault()
        if (await save.run()) onClose()
      }}
    >
      <Select
        label="Autonomy"
        name="autonomyLevel"
        value={draft.autonomyLevel}
        choices={levels}
        hint="Of what says none itself. Where nobody does: semi-autonomous."
        problem={problem}
        onChoice={(value) =>
          change({ autonomyLevel: AutonomyLevel.literals.find((each) => each === value) ?? "" })
        }
      />
      <PolicyRules
        rules={draft.tools}
        known={tools.tools}
        problem={problem}
        onRules={(rules) => change({ tools: rules })}
      />
      <PolicyConnectors
        connectors={tools.connectors}
        chosen={draft.connectorIds}
        problem={problem}
        onChoice={(connectorIds) => change({ connectorIds })}
      />
      <ProblemNotice problem={toolsProblem} />
      <div class="policy-two">
        <TextField
          label="Steps of a run, at most"
          name="maxSteps"
          type="number"
          min={1}
          value={draft.maxSteps}
          placeholder="as the service has it"
          problem={problem}
          onText={(maxSteps) => change({ maxSteps })}
        />
        <TextField
          label="Working seconds of a run, at most"
          name="maxSeconds"
          type="number"
          min={1}
          value={draft.maxSeconds}
          placeholder="as the service has it"
          problem={problem}
          onText={(maxSeconds) => change({ maxSeconds })}
        />
      </div>
      <Outcome draft={draft} known={tools.tools} unknown={tools.unknown} />
      {isOfForm(problem, fields) && <ProblemNotice problem={problem} />}
      <footer>
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" type="submit" isBusy={save.isBusy}>
          Replace policy
        </Button>
      </footer>
    </form>
  )
}

const tones = { allow: "ok", ask: "wait", deny: "bad" } as const
const marks = { allow: "✓", ask: "?", deny: "✕" } as const

interface OutcomeProps {
  readonly draft: Draft
  readonly known: Parameters<typeof rulings>[1]
  readonly unknown: ReadonlyArray<string>
}

/** What the tools that are known now would be allowed, by what is written. */
const Outcome = ({ draft, known, unknown }: OutcomeProps) => (
  <details class="policy-outcome">
    <summary>What this means for the {known.length} tools that are known now</summary>
    <ul>
      {rulings(draft, known).map(([name, rule]) => (
        <li key={name}>
          <Badge tone={tones[rule]} mark={marks[rule]}>
            {rule}
          </Badge>{" "}
          <code>{name}</code>
        </li>
      ))}
    </ul>
    <p class="muted">By this policy alone; another one of the same run may deny more.</p>
    {unknown.length > 0 && <p class="muted">The tools are not known of: {unknown.join(" · ")}</p>}
  </details>
)
