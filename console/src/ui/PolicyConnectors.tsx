import { type Connector, nameOfConnector } from "../../../src/Schemas/Connector.ts"
import type { Problem } from "../Client.ts"
import { Checkbox } from "./Field.tsx"
import { problemOf } from "./Problems.ts"

interface Props {
  readonly connectors: ReadonlyArray<Connector>
  /** Null: all that there are. */
  readonly chosen: ReadonlyArray<string> | null
  readonly problem: Problem | undefined
  readonly onChoice: (chosen: ReadonlyArray<string> | null) => void
}

/** Which connectors there are for some work: all of them, or these alone. */
export const PolicyConnectors = ({ connectors, chosen, problem, onChoice }: Props) => {
  const sentence = problemOf(problem, "connectorIds")
  const gone = (chosen ?? []).filter((id) => connectors.every((connector) => connector.id !== id))
  const box = (id: string, label: string) => (
    <Checkbox
      key={id}
      label={label}
      checked={chosen?.includes(id) === true}
      onCheck={(isChosen) =>
        onChoice(isChosen ? [...(chosen ?? []), id] : (chosen ?? []).filter((each) => each !== id))
      }
    />
  )
  return (
    <fieldset class="choice-box">
      <legend>Connectors</legend>
      <Checkbox
        label="All that there are"
        checked={chosen === null}
        onCheck={(isAll) => onChoice(isAll ? null : [])}
      />
      {chosen !== null && connectors.length === 0 && <p class="muted">There is no connector.</p>}
      {chosen !== null &&
        connectors.map((connector) => {
          const name = nameOfConnector(connector)
          const { id, status } = connector
          return box(id, status === "ACTIVE" ? name : `${name} (${status.toLowerCase()})`)
        })}
      {gone.map((id) => box(id, `${id} (is no more)`))}
      {chosen?.length === 0 && <p class="muted">None: only the built-in tools.</p>}
      {sentence !== undefined && (
        <p class="field-problem" role="alert">
          {sentence}
        </p>
      )}
    </fieldset>
  )
}
