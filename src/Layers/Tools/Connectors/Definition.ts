import { createHash } from "node:crypto"
import type * as Schema from "effect/Schema"
import { nameOfConnector, type StoredConnector } from "../../../Schemas/Connector.ts"
import { storableText } from "../../../Schemas/Json.ts"
import { cut } from "../../../Schemas/Text.ts"
import type { ToolDefinition } from "../../../Schemas/Tool.ts"
import { definitionText, shownAddress, type ToolBinding } from "../../../Schemas/ToolBinding.ts"
import { prefixOf } from "../../../Schemas/ToolName.ts"
import type { McpTool } from "../Mcp.ts"

const longestDescription = 1_024

/** What a model is told of a tool that it knows by this name. */
export const definitionOf = (tool: McpTool, name: string): ToolDefinition => ({
  name,
  description: descriptionOf(tool),
  // Some models refuse the schema of an object that names no properties.
  parameters: {
    ...(tool.inputSchema as Schema.JsonObject),
    properties: tool.inputSchema.properties ?? {}
  } as Schema.JsonObject,
  readOnly: isReadOnly(tool)
})

/** What is stored of a tool with its calls. */
export const bindingOf = (connector: StoredConnector, url: string, tool: McpTool): ToolBinding => ({
  connectorId: connector.id,
  connectorName: nameOfConnector(connector),
  address: shownAddress(url),
  place: placeOf(url),
  tool: tool.name,
  prefix: prefixOf(connector),
  definition: definitionHash(tool),
  description: descriptionOf(tool),
  readOnly: isReadOnly(tool)
})

/** What an address is compared by: kept with every call, it must not tell what may be a key in it. */
export const placeOf = (url: string): string => sha256(url)

const descriptionOf = ({ description, title }: McpTool): string =>
  cut(storableText(description ?? title ?? ""), longestDescription)

export const isDestructive = ({ annotations }: McpTool): boolean => annotations?.destructiveHint === true

const isReadOnly = (tool: McpTool): boolean => tool.annotations?.readOnlyHint === true && !isDestructive(tool)

/** Each name once: of two tools the later. */
export const distinct = (tools: ReadonlyArray<McpTool>): ReadonlyArray<McpTool> => [
  ...new Map(tools.map((tool) => [tool.name, tool])).values()
]

/** Of the tools of a list that is kept for a while, and asked for by every run meanwhile. */
const hashes = new WeakMap<McpTool, string>()

const definitionHash = (tool: McpTool): string => {
  const known = hashes.get(tool)
  if (known !== undefined) return known
  const hash = sha256(definitionText(tool))
  hashes.set(tool, hash)
  return hash
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
