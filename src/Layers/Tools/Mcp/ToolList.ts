import type * as McpProtocol from "effect/ai/McpProtocol"
import * as McpSchema from "effect/ai/McpSchema"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { cut } from "../../../Schemas/Text.ts"

const maximumTools = 128
const maximumSchemaBytes = 65_536
const deepestSchema = 100

export interface ToolPage {
  /** The result of `tools/list` with only the tools that can be used; no cursor once there are enough. */
  readonly result: unknown
  readonly kept: number
  /** For the log. */
  readonly leftOut: ReadonlyArray<string>
}

/**
 * The client decodes a page of tools as a whole and fails with one that is odd. This takes out of a raw page
 * the tools that do not decode, are too large or too deep, or are more than 128 together with the `before` of earlier
 * pages. Of a tool that is odd only in what we do not use (icons, output schema …) the rest is kept.
 */
export const readPage = (
  protocol: McpProtocol.AnyProtocolAdapter,
  result: unknown,
  before: number
): ToolPage => {
  if (!Predicate.isReadonlyObject(result) || !Array.isArray(result.tools)) {
    return { result, kept: 0, leftOut: [] }
  }
  const { nextCursor, ...page } = result
  const decodes = decoderOf(protocol, page)
  if (!decodes([])) return { result, kept: 0, leftOut: [] }
  const tools: Array<unknown> = []
  const leftOut: Array<string> = []
  for (const tool of result.tools) {
    if (before + tools.length >= maximumTools) break
    const usable = [tool, bare(tool)].find((form) => isSmall(form) && decodes([form]))
    if (usable === undefined) leftOut.push(nameOf(tool))
    else tools.push(usable)
  }
  const isFull = before + tools.length >= maximumTools
  const more = result.tools.length - tools.length - leftOut.length
  if (more > 0 || (isFull && nextCursor !== undefined)) leftOut.push(`all beyond ${maximumTools}`)
  return {
    result: { ...page, tools, ...(!isFull && nextCursor !== undefined && { nextCursor }) },
    kept: tools.length,
    leftOut
  }
}

/** Whether the client will decode the page with these tools: by the wire schema and by the public one. */
const decoderOf = (protocol: McpProtocol.AnyProtocolAdapter, page: object) => {
  const rpc = protocol.clientRpcs.requests.get("tools/list") as
    | { successSchema?: Schema.Constraint }
    | undefined
  const decoders = [rpc?.successSchema, McpSchema.ListTools.successSchema].flatMap((schema) =>
    schema === undefined
      ? []
      : [Schema.decodeUnknownOption(schema as Schema.ConstraintCodec<unknown, unknown>)]
  )
  const discriminator = protocol.protocolVersion === "2026-07-28" ? { resultType: "complete" } : {}
  return (tools: ReadonlyArray<unknown>) =>
    decoders.every((decode) => Option.isSome(decode({ ...discriminator, ...page, tools })))
}

/** A tool with nothing but what we use. */
const bare = (tool: unknown): unknown => {
  if (!Predicate.isReadonlyObject(tool)) return undefined
  const { annotations, description, inputSchema, name } = tool
  const readOnly = Predicate.isReadonlyObject(annotations) && annotations.readOnlyHint === true
  return {
    name,
    inputSchema,
    ...(typeof description === "string" && { description }),
    ...(readOnly && { annotations: { readOnlyHint: true } })
  }
}

const isSmall = (tool: unknown): boolean =>
  Predicate.isReadonlyObject(tool) &&
  typeof tool.name === "string" &&
  !isDeeper(tool.inputSchema, deepestSchema) &&
  new TextEncoder().encode(JSON.stringify(tool.inputSchema) ?? "").length <= maximumSchemaBytes

/** Beyond reason, it would overflow the stack of whoever reads it. */
const isDeeper = (value: unknown, limit: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (limit === 0 || Object.values(value).some((inner) => isDeeper(inner, limit - 1)))

const nameOf = (tool: unknown): string =>
  Predicate.isReadonlyObject(tool) && typeof tool.name === "string" ? cut(tool.name, 100) : "(no name)"
