import { useState } from "preact/hooks"
import type { RunDetail } from "../../../../src/Schemas/Run.ts"
import { Json } from "../../ui/Text.tsx"

/** The run as the API tells it, written only when it is asked for. */
export const Raw = ({ run }: { readonly run: RunDetail }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="run-raw" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Raw JSON</summary>
      {isOpen && <Json value={run} label="The run as JSON" />}
    </details>
  )
}
