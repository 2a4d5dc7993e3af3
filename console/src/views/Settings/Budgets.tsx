import { useState } from "preact/hooks"
import type { Budget } from "../../../../src/Schemas/Budget.ts"
import { call, Problem } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { isOwner, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { TextField } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Loading, Section } from "../../ui/Page.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { entered, limits, toBudget } from "./Limits.ts"

const Form = ({ budget, onSaved }: { readonly budget: Budget; readonly onSaved: () => void }) => {
  const [texts, setTexts] = useState(entered(budget))
  const [isSaved, setSaved] = useState(false)
  const save = useAction(async () => {
    setSaved(false)
    const payload = toBudget(texts)
    if (typeof payload === "string") throw new Problem("InvalidInput", payload)
    await call((client) => client.workspaces.putBudget({ params: { id: workspaceId() }, payload }))
    setSaved(true)
    onSaved()
  })
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault()
        save.run()
      }}
    >
      <div class="settings-limits">
        {limits.map(({ hint, label, name }) => (
          <TextField
            key={name}
            label={label}
            name={name}
            hint={hint}
            disabled={!isOwner.value}
            problem={save.problem}
            value={texts[name]}
            onText={(text) => setTexts({ ...texts, [name]: text })}
          />
        ))}
      </div>
      {isOfForm(
        save.problem,
        limits.map(({ name }) => name)
      ) && <ProblemNotice problem={save.problem} />}
      {isSaved && <Notice kind="ok">It holds from now on.</Notice>}
      {isOwner.value ? (
        <div class="row">
          <Button kind="primary" type="submit" isBusy={save.isBusy}>
            Save budget
          </Button>
        </div>
      ) : (
        <p class="muted">Owners change it.</p>
      )}
    </form>
  )
}

/** What the workspace may spend on models, in a month and in one run. */
export const Budgets = () => {
  const workspace = workspaceId()
  const { data, isLoading, problem, reload } = useLoad(workspace, (signal) =>
    call((client) => client.workspaces.budget({ params: { id: workspace } }), signal)
  )
  return (
    <Section title="Budget">
      <div class="stack">
        <p class="muted">
          Empty is no limit, 0 is nothing at all. What is used, and how near quotas are, is in{" "}
          <a href={href(["usage"])}>Usage</a>.
        </p>
        <ProblemNotice problem={problem} onRetry={reload} />
        {isLoading && <Loading rows={2} />}
        {data !== undefined && <Form budget={data.data} onSaved={reload} />}
      </div>
    </Section>
  )
}
