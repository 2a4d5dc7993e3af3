import { useState } from "preact/hooks"
import type { ProviderKeyId } from "../../../../src/Schemas/Ids.ts"
import type { ProviderKey } from "../../../../src/Schemas/ProviderKey.ts"
import { call, Problem } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { current, isOwner, loadWorkspaces, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm, Dialog } from "../../ui/Dialog.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { Badge } from "../../ui/Status.tsx"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"
import { pricesOf, pricingOf } from "./Key.ts"
import { NewKey } from "./NewKey.tsx"
import { PriceFields } from "./PriceFields.tsx"
import { Trial } from "./Trial.tsx"
import "./Models.css"

type Asked =
  | { readonly what: "new" }
  | { readonly what: "prices" | "remove" | "try"; readonly key: ProviderKey }

const priced = ({ pricing, provider }: ProviderKey): string => {
  if (pricing === null) return provider === "offline" ? "Nothing" : "As public lists say"
  return `$${pricing.inputPerMillion} in, $${pricing.outputPerMillion} out`
}

interface DialogProps {
  readonly providerKey: ProviderKey
  readonly onChanged: () => void
  readonly onClose: () => void
}

const PriceDialog = ({ onChanged, onClose, providerKey }: DialogProps) => {
  const [prices, setPrices] = useState(pricesOf(providerKey.pricing))
  const save = useAction(async () => {
    const pricing = pricingOf(prices)
    if (typeof pricing === "string") throw new Problem("InvalidInput", pricing)
    await call((client) =>
      client.providerKeys.update({ params: { id: providerKey.id }, payload: { pricing } })
    )
    onChanged()
    onClose()
  })
  return (
    <Dialog title={`What ${providerKey.name} costs`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        <PriceFields prices={prices} onPrices={setPrices} problem={save.problem} />
        <p class="muted">What was used before keeps its cost.</p>
        {save.problem?.message.startsWith("pricing") !== true && <ProblemNotice problem={save.problem} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={save.isBusy}>
            Save
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

const RemovalDialog = ({ onChanged, onClose, providerKey }: DialogProps) => {
  const remove = useAction(async () => {
    await call((client) => client.providerKeys.remove({ params: { id: providerKey.id } }))
    await loadWorkspaces()
    onChanged()
  })
  return (
    <Confirm
      title={`Delete ${providerKey.name}?`}
      deed="Delete"
      problem={remove.problem}
      onConfirm={() => remove.run()}
      onClose={onClose}
    >
      <p>
        Agents that name it have none then. Work under way that it answers ends with an error at its next
        question.
      </p>
    </Confirm>
  )
}

interface RowProps {
  readonly providerKey: ProviderKey
  readonly isDefault: boolean
  readonly isBusy: boolean
  readonly onDefault: () => void
  readonly onAsk: (asked: Asked) => void
}

const Row = ({ isBusy, isDefault, onAsk, onDefault, providerKey: key }: RowProps) => (
  <tr>
    <td>
      <div class="row">
        <strong>{key.name}</strong>
        {isDefault && (
          <Badge tone="ok" mark="✓">
            Default
          </Badge>
        )}
      </div>
      {key.baseUrl !== null && <span class="models-address muted">{key.baseUrl}</span>}
    </td>
    <td>
      {key.provider} / <code>{key.model}</code>
    </td>
    <td data-label="API key">{key.hasApiKey ? "Set" : <span class="muted">None</span>}</td>
    <td data-label="Price per million">{priced(key)}</td>
    <td>
      <Age at={key.createdAt} />
    </td>
    <td>
      <div class="row">
        <Button onClick={() => onAsk({ what: "try", key })}>Try it</Button>
        {isOwner.value && (
          <>
            {!isDefault && (
              <Button isBusy={isBusy} onClick={onDefault}>
                Make default
              </Button>
            )}
            <Button onClick={() => onAsk({ what: "prices", key })}>Prices</Button>
            <Button kind="danger" onClick={() => onAsk({ what: "remove", key })}>
              Delete
            </Button>
          </>
        )}
      </div>
    </td>
  </tr>
)

/** The keys of providers: which models can answer, and which one does where nobody says. */
const Models = () => {
  const workspace = workspaceId()
  const [asked, setAsked] = useState<Asked>()
  const { data, isLoading, problem, reload } = useLoad(workspace, (signal) =>
    call((client) => client.providerKeys.list({ query: { workspaceId: workspace } }), signal)
  )
  const makeDefault = useAction(async (defaultProviderKeyId: ProviderKeyId) => {
    await call((client) =>
      client.workspaces.update({ params: { id: workspace }, payload: { defaultProviderKeyId } })
    )
    await loadWorkspaces()
  })
  const changed = () => {
    reload()
    loadWorkspaces().catch(() => {})
  }
  const close = () => setAsked(undefined)
  const keys = data?.data ?? []
  const byDefault = keys.find(({ id }) => id === current.value?.defaultProviderKeyId)
  return (
    <Page
      title="Models"
      note={
        byDefault === undefined
          ? "Where nobody names a key, the operator's own model answers, or the offline provider, which says that it is none."
          : `Where nobody names a key, ${byDefault.name} answers.`
      }
      actions={
        isOwner.value ? (
          <Button kind="primary" onClick={() => setAsked({ what: "new" })}>
            New provider key
          </Button>
        ) : (
          <span class="muted">Owners store keys.</span>
        )
      }
    >
      <div class="stack">
        <ProblemNotice problem={problem} onRetry={reload} />
        <ProblemNotice problem={makeDefault.problem} />
        {isLoading && <Loading />}
        {data !== undefined && keys.length === 0 && (
          <Empty title="This workspace has no provider keys.">
            <p>Store one, and its model answers tasks and chats. The first becomes the default.</p>
          </Empty>
        )}
        {keys.length > 0 && (
          <Table
            stacks
            label="Provider keys"
            columns={["Name", "Model", "API key", "Price per million", "Created", ""]}
          >
            {keys.map((key) => (
              <Row
                key={key.id}
                providerKey={key}
                isDefault={key.id === byDefault?.id}
                isBusy={makeDefault.isBusy}
                onDefault={() => makeDefault.run(key.id)}
                onAsk={setAsked}
              />
            ))}
          </Table>
        )}
      </div>
      {asked?.what === "new" && <NewKey onMade={changed} onClose={close} />}
      {asked?.what === "prices" && (
        <PriceDialog providerKey={asked.key} onChanged={changed} onClose={close} />
      )}
      {asked?.what === "remove" && (
        <RemovalDialog providerKey={asked.key} onChanged={changed} onClose={close} />
      )}
      {asked?.what === "try" && <Trial providerKey={asked.key} onClose={close} />}
    </Page>
  )
}

export default Models
