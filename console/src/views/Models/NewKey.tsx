import { useState } from "preact/hooks"
import { Provider } from "../../../../src/Schemas/ProviderKey.ts"
import { call, Problem } from "../../Client.ts"
import { useAction, useOnce } from "../../Load.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Select, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { type Entered, noKey, noPrices, payloadOf, pricingOf } from "./Key.ts"
import { PriceFields } from "./PriceFields.tsx"

const labels: Record<Provider, string> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  google: "Google",
  "openai-compatible": "Another that speaks as OpenAI does (Ollama, vLLM, LM Studio …)",
  offline: "Offline: no model, for trying things"
}

const names = ["name", "provider", "model", "apiKey", "baseUrl", "maxOutputTokens", "pricing"]

interface Props {
  readonly onMade: () => void
  readonly onClose: () => void
}

/** Stores the key of a provider, which goes in and never comes back. */
export const NewKey = ({ onClose, onMade }: Props) => {
  const [entered, setEntered] = useState(noKey)
  const [prices, setPrices] = useState(noPrices)
  const once = useOnce()
  const create = useAction(async () => {
    const pricing = pricingOf(prices)
    if (typeof pricing === "string") throw new Problem("InvalidInput", pricing)
    const payload = {
      workspaceId: workspaceId(),
      ...payloadOf(entered),
      ...(pricing !== null && { pricing })
    }
    await once(payload, (key) => call((client) => client.providerKeys.create({ payload }), undefined, key))
    onMade()
    onClose()
  })
  const set = (change: Partial<Entered>) => setEntered({ ...entered, ...change })
  const { provider } = entered
  return (
    <Dialog title="New provider key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Select
          label="Provider"
          name="provider"
          value={provider}
          problem={create.problem}
          choices={Provider.literals.map((value) => ({ value, label: labels[value] }))}
          onChoice={(value) =>
            set({ provider: Provider.literals.find((each) => each === value) ?? provider })
          }
        />
        <TextField
          label="Name"
          name="name"
          required
          hint="What people choose it by."
          problem={create.problem}
          value={entered.name}
          onText={(name) => set({ name })}
        />
        <TextField
          label="Model"
          name="model"
          required
          spellcheck={false}
          hint="As the provider calls it."
          problem={create.problem}
          value={entered.model}
          onText={(model) => set({ model })}
        />
        {provider !== "offline" && (
          <>
            <TextField
              label="API key"
              name="apiKey"
              type="password"
              autocomplete="new-password"
              hint="It is sealed, and never shown again."
              problem={create.problem}
              value={entered.apiKey}
              onText={(apiKey) => set({ apiKey })}
            />
            <TextField
              label="Base URL"
              name="baseUrl"
              type="url"
              required={provider === "openai-compatible"}
              hint={
                provider === "openai-compatible"
                  ? "Such as https://models.example.org/v1."
                  : "Empty: the provider's own."
              }
              problem={create.problem}
              value={entered.baseUrl}
              onText={(baseUrl) => set({ baseUrl })}
            />
            <TextField
              label="Max output tokens"
              name="maxOutputTokens"
              type="number"
              min={1}
              hint="Empty: what is usual for the model."
              problem={create.problem}
              value={entered.maxOutputTokens}
              onText={(maxOutputTokens) => set({ maxOutputTokens })}
            />
            <PriceFields prices={prices} onPrices={setPrices} problem={create.problem} />
          </>
        )}
        {isOfForm(create.problem, names) && <ProblemNotice problem={create.problem} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={create.isBusy}>
            Store key
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
