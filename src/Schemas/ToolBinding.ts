import * as Schema from "effect/Schema"
import { ConnectorId } from "./Ids.ts"
import { sortedJson, storableText } from "./Json.ts"
import { ToolCall } from "./Tool.ts"

/** Where a tool is, by which it is found again. */
export const ToolPlace = Schema.Struct({
  connectorId: ConnectorId,
  /** What the connector was called then. */
  connectorName: Schema.String,
  /** A hash of the whole address. */
  place: Schema.String,
  /** As its server names it. */
  tool: Schema.String,
  /** What the name of it began with when it was given; a version before this one has not kept that. */
  prefix: Schema.optionalKey(Schema.String)
})
export type ToolPlace = typeof ToolPlace.Type

/**
 * What a tool of a connector is, whatever it is called by a model or by people (CONTRACT.md section 5): a call that
 * was made of it is made on nothing else. It is stored with each call, and holds no secret.
 */
export const ToolBinding = Schema.Struct({
  ...ToolPlace.fields,
  /** Where its server is, as people see it: `shownAddress`. */
  address: Schema.String,
  /** A hash of `definitionText`. */
  definition: Schema.String,
  description: Schema.String,
  readOnly: Schema.Boolean
})
export type ToolBinding = typeof ToolBinding.Type

/**
 * A call of a model with what it is bound to: null is no tool of a connector, so a built-in one or none at all.
 * Calls that a version before this one has kept have no binding: they are known by their name alone.
 */
export const BoundCall = Schema.Struct({
  ...ToolCall.fields,
  binding: Schema.optionalKey(Schema.NullOr(ToolBinding))
})
export type BoundCall = typeof BoundCall.Type

/** The calls of an answer, each bound to what the model was shown under its name. */
export const bound = (
  calls: ReadonlyArray<ToolCall>,
  shown: ReadonlyArray<{
    readonly definition: { readonly name: string }
    readonly binding: ToolBinding | null
  }>
): ReadonlyArray<BoundCall> =>
  calls.map((call) => ({
    ...call,
    binding: shown.find(({ definition }) => definition.name === call.name)?.binding ?? null
  }))

/** As models, providers and readers see it. */
export const unbound = ({ binding: _, ...call }: BoundCall): ToolCall => call

/** Whether it is the same tool, as it was. */
export const isSameTool = (one: ToolBinding | null, other: ToolBinding | null): boolean =>
  identity(one) === identity(other)

/** What of a binding must not change, in words that are the same for the same tool alone. */
export const identity = (binding: ToolBinding | null): string =>
  JSON.stringify(binding && [binding.connectorId, binding.place, binding.tool, binding.definition])

/** What a tool is by its own server, the same whatever the order of the members in it. */
export const definitionText = (tool: {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly inputSchema: unknown
  readonly annotations?: unknown
}): string => {
  const { annotations = {}, description = null, inputSchema, name, title = null } = tool
  return JSON.stringify(
    sortedJson([name, title, description, inputSchema, annotations] as ReadonlyArray<Schema.Json>)
  )
}

const longestAddress = 500

/**
 * Where a server is, without what may be a secret: values of the query, names there that have none, and parts of host,
 * path and query that look like a key.
 */
export const shownAddress = (address: string): string => {
  const url = new URL(address)
  const shownPart = (part: string) => (isOpaque(part) ? "…" : part)
  const host = url.hostname.split(".").map(shownPart).join(".")
  const path = url.pathname.split("/").map(shownPart).join("/")
  const names = [...new Map(url.searchParams)].map(([name, value]) =>
    value === "" ? "…" : `${encodeURIComponent(shownPart(name))}=…`
  )
  const origin = `${url.protocol}//${host}${url.port === "" ? "" : `:${url.port}`}`
  const shown = origin + path + (names.length === 0 ? "" : `?${names.join("&")}`)
  return storableText(shown.length <= longestAddress ? shown : `${shown.slice(0, longestAddress)}…`)
}

/** Of letters and digits, or long: a key looks so, and so does an id. */
export const isOpaque = (part: string): boolean =>
  (part.length >= 16 && /[0-9]/u.test(part) && /[a-z]/iu.test(part)) || part.length >= 32
