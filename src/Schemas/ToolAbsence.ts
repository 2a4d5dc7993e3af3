import * as Schema from "effect/Schema"
import { type ConnectorReference, nameOfConnector, type StoredConnector } from "./Connector.ts"
import type { ToolPlace } from "./ToolBinding.ts"

/** What a run was given can't be had now (CONTRACT.md section 5): the tool of a call, or those of a connector. */
export class ToolUnavailable extends Schema.TaggedError<ToolUnavailable>()("ToolUnavailable", {
  error: Schema.String,
  /** It never comes back. */
  isGone: Schema.Boolean
}) {}

/** Why something can't be had, in words without a secret. */
export interface Absence {
  readonly why: string
  readonly isGone: boolean
}

export const away = (why: string): Absence => ({ why, isGone: false })

export const deleted: Absence = { why: "the connector was deleted", isGone: true }

export const switchedOff: Absence = away("the connector is switched off")

export const noRoom: Absence = away("the plan has no room for it to be ACTIVE again")

export const toolUnavailable = (
  { connectorId, connectorName, tool }: ToolPlace,
  { isGone, why }: Absence
): ToolUnavailable =>
  new ToolUnavailable({
    error: `the tool ${quoted(tool)} of the connector ${quoted(connectorName)} (${connectorId}) is unavailable: ${why}`,
    isGone
  })

/** A connector whose tools can't be had now. */
export interface AbsentConnector extends ConnectorReference, Absence {}

export const absent = (connector: StoredConnector, absence: Absence): AbsentConnector => ({
  id: connector.id,
  name: nameOfConnector(connector),
  ...absence
})

/** Of a run that names its connectors, and so does nothing without the tools of all of them. */
export const connectorUnavailable = ({ id, isGone, name, why }: AbsentConnector): ToolUnavailable =>
  new ToolUnavailable({
    error: `the tools of the connector ${quoted(name)} (${id}) are unavailable: ${why}`,
    isGone
  })

/** What a model is told of connectors whose tools it misses; nothing where it misses none. */
export const absenceNote = (absent: ReadonlyArray<ConnectorReference>): string | null =>
  absent.length === 0
    ? null
    : `These connectors can't be reached now, so their tools are missing: ${absent
        .map(({ name }) => quoted(name))
        .join(", ")}. Where they are needed, say so instead of doing without them.`

const quoted = (name: string): string => JSON.stringify(name)
