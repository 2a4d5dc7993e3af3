import { useState } from "preact/hooks"
import type { ConnectorTool } from "../../../../src/Schemas/ConnectorHealth.ts"
import { TextField } from "../../ui/Field.tsx"
import { Badge } from "../../ui/Status.tsx"
import { Json, LongText } from "../../ui/Text.tsx"

/** So many that one looks for a name instead of reading them. */
const many = 10
const mostShown = 300

const Tool = ({ tool }: { readonly tool: ConnectorTool }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <details class="connectors-tool" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <code>{tool.name}</code> {tool.readOnly && <Badge tone="ok">Only reads</Badge>}
          {tool.destructive && <Badge tone="warn">May destroy</Badge>}
        </summary>
        {isOpen && (
          <div class="stack">
            {tool.originalName !== tool.name && (
              <p class="muted">
                Its server calls it <code>{tool.originalName}</code>.
              </p>
            )}
            {tool.description !== "" && <LongText text={tool.description} />}
            <Json value={tool.inputSchema} label={`Parameters of ${tool.name}`} />
          </div>
        )}
      </details>
      {!isOpen && <p class="connectors-about muted">{tool.description}</p>}
    </li>
  )
}

/** The tools of a connector, found by their names and descriptions. */
export const ToolList = ({ tools }: { readonly tools: ReadonlyArray<ConnectorTool> }) => {
  const [wanted, setWanted] = useState("")
  const words = wanted.trim().toLowerCase()
  const found = tools.filter(({ description, name }) =>
    `${name}\n${description}`.toLowerCase().includes(words)
  )
  return (
    <div class="stack">
      {tools.length > many && (
        <TextField label="Find a tool" type="search" value={wanted} onText={setWanted} />
      )}
      <p class="muted" aria-live="polite">
        {words === "" ? `${tools.length} tools` : `${found.length} of ${tools.length} tools`}
        {found.length > mostShown && `, the first ${mostShown} of them are shown`}
      </p>
      <ul class="connectors-tools" aria-label="Tools">
        {found.slice(0, mostShown).map((tool) => (
          <Tool key={tool.name} tool={tool} />
        ))}
      </ul>
    </div>
  )
}
