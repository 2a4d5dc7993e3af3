import { useState } from "preact/hooks"
import type { CreateConnector } from "../../../../src/Schemas/Connector.ts"
import { knownProviders, registryEntry } from "../../../../src/Schemas/ConnectorRegistry.ts"
import { call, Problem } from "../../Client.ts"
import { useAction, useOnce } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Select, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { metadataOf, nothing } from "./Metadata.ts"
import { Reach } from "./Reach.tsx"

const ownServer = "mcp"
const other = "other"

const choices = [
  { value: ownServer, label: "An MCP server by its address" },
  ...knownProviders.map((id) => ({ value: id, label: registryEntry(id)?.name ?? id })),
  { value: other, label: "Another provider" }
]

const hintOf = (kind: string): string => {
  if (kind === ownServer) return "Of an MCP server that speaks streamable HTTP."
  const { mcpUrl } = registryEntry(kind) ?? {}
  return mcpUrl === undefined
    ? "It brings tools where it has an MCP server at an address; without one it is only kept."
    : `Without one it is ${mcpUrl}.`
}

const payloadOf = (kind: string, providerId: string, name: string): Omit<CreateConnector, "workspaceId"> => ({
  ...(kind === ownServer ? { type: "mcp" } : { providerId: kind === other ? providerId.trim() : kind }),
  ...(name.trim() !== "" && { providerName: name.trim() })
})

const names = [
  "providerName",
  "providerId",
  "metadata",
  "metadata.url",
  "metadata.headers",
  "metadata.credential"
]

/** Adds a connector, and leads to it. */
export const NewConnector = ({ onClose }: { readonly onClose: () => void }) => {
  const [kind, setKind] = useState(ownServer)
  const [providerId, setProviderId] = useState("")
  const [name, setName] = useState("")
  const [entered, setEntered] = useState(nothing)
  const once = useOnce()
  const create = useAction(async () => {
    const metadata = metadataOf(entered)
    if (typeof metadata === "string") throw new Problem("InvalidInput", metadata)
    const payload = { workspaceId: workspaceId(), metadata, ...payloadOf(kind, providerId, name) }
    const { data } = await once(payload, (key) =>
      call((client) => client.connectors.create({ payload }), undefined, key)
    )
    onClose()
    go(href(["connectors", data.id]))
  })
  return (
    <Dialog title="New connector" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Select label="Provider" value={kind} choices={choices} onChoice={setKind} />
        {kind === other && (
          <TextField
            label="Id of the provider"
            name="providerId"
            required
            problem={create.problem}
            value={providerId}
            onText={setProviderId}
          />
        )}
        <TextField
          label="Name"
          name="providerName"
          placeholder={registryEntry(kind)?.name ?? "What people know it by"}
          problem={create.problem}
          value={name}
          onText={setName}
        />
        <Reach entered={entered} onEntered={setEntered} problem={create.problem} addressHint={hintOf(kind)} />
        {isOfForm(create.problem, names) && <ProblemNotice problem={create.problem} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={create.isBusy}>
            Add connector
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
