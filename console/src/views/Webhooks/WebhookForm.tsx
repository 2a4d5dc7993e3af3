import { useState } from "preact/hooks"
import type { NewWebhook, Webhook } from "../../../../src/Schemas/Webhook.ts"
import { WebhookEventType } from "../../../../src/Schemas/WebhookEvent.ts"
import { call, Problem } from "../../Client.ts"
import { useAction, useOnce } from "../../Load.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Checkbox, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { meanings } from "./Events.ts"

interface Props {
  /** Undefined: a new one. */
  readonly webhook: Webhook | undefined
  readonly onSaved: (made: NewWebhook | undefined) => void
  readonly onClose: () => void
}

/** Where a webhook leads and what it is told of. */
export const WebhookForm = ({ onClose, onSaved, webhook }: Props) => {
  const [url, setUrl] = useState(webhook?.url ?? "")
  const [description, setDescription] = useState(webhook?.description ?? "")
  const [isAll, setAll] = useState(webhook?.events.includes("*") ?? true)
  const [chosen, setChosen] = useState<ReadonlySet<WebhookEventType>>(
    new Set(WebhookEventType.literals.filter((name) => webhook?.events.includes(name)))
  )
  const once = useOnce()
  const choose = (name: WebhookEventType, isIn: boolean) => {
    const others = WebhookEventType.literals.filter((each) => each !== name && chosen.has(each))
    setChosen(new Set(isIn ? [...others, name] : others))
  }
  const save = useAction(async () => {
    const events = isAll ? (["*"] as const) : [...chosen]
    if (events.length === 0) throw new Problem("InvalidInput", "events: choose at least one")
    const payload = {
      url: url.trim(),
      events,
      description: description.trim() === "" ? null : description.trim()
    }
    if (webhook !== undefined) {
      await call((client) => client.webhooks.update({ params: { id: webhook.id }, payload }))
      onSaved(undefined)
    } else {
      const given = { ...payload, workspaceId: workspaceId() }
      const made = await once(given, (key) =>
        call((client) => client.webhooks.create({ payload: given }), undefined, key)
      )
      onSaved(made.data)
    }
    onClose()
  })
  return (
    <Dialog title={webhook === undefined ? "New webhook" : "Edit webhook"} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        <TextField
          label="Address"
          name="url"
          type="url"
          required
          placeholder="https://example.org/hooks/agentd"
          problem={save.problem}
          value={url}
          onText={setUrl}
        />
        <TextField
          label="Description"
          name="description"
          problem={save.problem}
          value={description}
          onText={setDescription}
        />
        <fieldset class="webhooks-events">
          <legend>Events</legend>
          <Checkbox label="All events, also those that are added later" checked={isAll} onCheck={setAll} />
          {!isAll &&
            WebhookEventType.literals.map((name) => (
              <Checkbox
                key={name}
                checked={chosen.has(name)}
                onCheck={(isIn) => choose(name, isIn)}
                label={
                  <>
                    {meanings[name]} <code class="muted">{name}</code>
                  </>
                }
              />
            ))}
        </fieldset>
        {isOfForm(save.problem, ["url", "description"]) && <ProblemNotice problem={save.problem} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={save.isBusy}>
            {webhook === undefined ? "Create webhook" : "Save"}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
