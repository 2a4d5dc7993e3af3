import { useState } from "preact/hooks"
import type { Connector } from "../../../../src/Schemas/Connector.ts"
import { call, Problem } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Checkbox, TextArea, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { metadataOf, nothing } from "./Metadata.ts"
import { Reach } from "./Reach.tsx"

interface Props {
  readonly connector: Connector
  readonly onClose: () => void
  readonly onChanged: () => void
}

const names = [
  "providerName",
  "grantedScopes",
  "metadata",
  "metadata.url",
  "metadata.headers",
  "metadata.credential"
]

/** Changes a connector. Its address and secrets are replaced together, or stay as they are. */
export const EditConnector = ({ connector, onChanged, onClose }: Props) => {
  const [name, setName] = useState(connector.providerName ?? "")
  const [scopes, setScopes] = useState(connector.grantedScopes.join("\n"))
  const [replaces, setReplaces] = useState(false)
  const [entered, setEntered] = useState(nothing)
  const save = useAction(async () => {
    const metadata = metadataOf(entered)
    if (replaces && typeof metadata === "string") throw new Problem("InvalidInput", metadata)
    const payload = {
      ...(name !== (connector.providerName ?? "") && { providerName: name }),
      grantedScopes: scopes.split("\n").flatMap((scope) => (scope.trim() === "" ? [] : [scope.trim()])),
      ...(replaces && typeof metadata !== "string" && { metadata })
    }
    await call((client) => client.connectors.update({ params: { id: connector.id }, payload }))
    onChanged()
    onClose()
  })
  return (
    <Dialog title="Edit connector" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        <TextField label="Name" name="providerName" problem={save.problem} value={name} onText={setName} />
        <TextArea
          label="Granted scopes"
          name="grantedScopes"
          rows={3}
          hint="A line each."
          problem={save.problem}
          value={scopes}
          onText={setScopes}
        />
        <Checkbox label="Replace its address and secrets" checked={replaces} onCheck={setReplaces} />
        {replaces ? (
          <Reach
            entered={entered}
            onEntered={setEntered}
            problem={save.problem}
            addressHint="All of it is replaced: what is left empty is gone."
          />
        ) : (
          <p class="muted">They are set, and not shown.</p>
        )}
        {isOfForm(save.problem, names) && <ProblemNotice problem={save.problem} />}
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
