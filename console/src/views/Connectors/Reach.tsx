import type { Problem } from "../../Client.ts"
import { TextArea, TextField } from "../../ui/Field.tsx"
import type { Entered } from "./Metadata.ts"

interface Props {
  readonly entered: Entered
  readonly onEntered: (entered: Entered) => void
  readonly problem: Problem | undefined
  readonly addressHint: string
}

/** How a connector is reached, and by which secrets: they go in and never come back. */
export const Reach = ({ addressHint, entered, onEntered, problem }: Props) => (
  <>
    <TextField
      label="Address"
      name="metadata.url"
      type="url"
      placeholder="https://mcp.example.org/mcp"
      hint={addressHint}
      problem={problem}
      value={entered.url}
      onText={(url) => onEntered({ ...entered, url })}
    />
    <TextField
      label="Credential"
      name="metadata.credential"
      type="password"
      autocomplete="new-password"
      hint="Sent as a bearer token. It is sealed, and never shown again."
      problem={problem}
      value={entered.credential}
      onText={(credential) => onEntered({ ...entered, credential })}
    />
    <TextArea
      label="Headers"
      name="metadata.headers"
      rows={2}
      spellcheck={false}
      placeholder="X-Api-Key: …"
      hint="A line each. They are sealed as well."
      problem={problem}
      value={entered.headers}
      onText={(headers) => onEntered({ ...entered, headers })}
    />
    <TextArea
      label="Other metadata"
      name="metadata"
      rows={2}
      spellcheck={false}
      placeholder="{}"
      hint="Whatever else its provider needs, as a JSON object. What looks like a secret in it is sealed."
      problem={problem}
      value={entered.more}
      onText={(more) => onEntered({ ...entered, more })}
    />
  </>
)
