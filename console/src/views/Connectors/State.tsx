import type { ConnectorStatus } from "../../../../src/Schemas/Connector.ts"
import { Badge, type Tone } from "../../ui/Status.tsx"

const states: Record<ConnectorStatus, { readonly word: string; readonly mark: string; readonly tone: Tone }> =
  {
    ACTIVE: { word: "Active", mark: "✓", tone: "ok" },
    ERROR: { word: "Error", mark: "✕", tone: "bad" },
    INACTIVE: { word: "Off", mark: "○", tone: "idle" }
  }

export const State = ({ status }: { readonly status: ConnectorStatus }) => (
  <Badge tone={states[status].tone} mark={states[status].mark}>
    {states[status].word}
  </Badge>
)
