import type { Connector } from "../../../../src/Schemas/Connector.ts"
import type { Problem } from "../../Client.ts"
import { Checkbox } from "../../ui/Field.tsx"
import { problemOf } from "../../ui/Problems.ts"

interface Props {
  readonly connectors: ReadonlyArray<Connector>
  /** Null: all that there are. */
  readonly chosen: ReadonlyArray<string> | null
  readonly problem: Problem | undefined
  readonly onChoice: (chosen: ReadonlyArray<string> | null) => void
}

const nameOf = ({ id, providerId, providerName, type }: Connector): string =>
  providerName ?? providerId ?? type ?? id

/** Which connectors' tools a task has: all of them, or these. */
export const ConnectorChoice = ({ connectors, chosen, problem, onChoice }: Props) => {
  const sentence = problemOf(problem, "connectorIds")
  return (
    <fieldset class="runs-connectors">
      <legend>Connectors</legend>
      <Checkbox
        label="All that are active"
        checked={chosen === null}
        onCheck={(isAll) => onChoice(isAll ? null : [])}
      />
      {chosen !== null && connectors.length === 0 && <p class="muted">There is no connector.</p>}
      {chosen !== null &&
        connectors.map((connector) => (
          <Checkbox
            key={connector.id}
            label={
              connector.status === "ACTIVE" ? nameOf(connector) : `${nameOf(connector)} (${connector.status})`
            }
            checked={chosen.includes(connector.id)}
            onCheck={(isChosen) =>
              onChoice(isChosen ? [...chosen, connector.id] : chosen.filter((id) => id !== connector.id))
            }
          />
        ))}
      {sentence !== undefined && (
        <p class="field-problem" role="alert">
          {sentence}
        </p>
      )}
    </fieldset>
  )
}
