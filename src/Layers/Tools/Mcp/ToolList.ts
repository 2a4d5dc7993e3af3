import type * as McpProtocol from "effect/ai/McpProtocol"
import * as McpSchema from "effect/ai/McpSchema"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { storableText } from "../../../Schemas/Json.ts"
import { cut } from "../../../Schemas/Text.ts"

const maximumTools = 128
/** Looked at in one list: a server can't make us try odd ones without end. */
const maximumSeen = 256
const maximumPages = 16
const maximumSchemaBytes = 65_536
/** Of the schemas of all tools of a server: they are kept, shown to whoever asks, and encoded each time. */
const maximumListBytes = 524_288
const deepestSchema = 100
const longestName = 1_000
/** More than anybody is shown, and enough to find secrets in before it is cut to that. */
const longestText = 65_536

/** How far a list has been read. */
export interface Progress {
  readonly pages: number
  /** Tools looked at. */
  readonly seen: number
  readonly kept: number
  /** Of the schemas of those that are kept. */
  readonly bytes: number
}

export const start: Progress = { pages: 0, seen: 0, kept: 0, bytes: 0 }

export interface ToolPage {
  /** The result of `tools/list` with only what is used of the tools that can be; no cursor at the end. */
  readonly result: unknown
  /** The input schemas of its tools, where it has the least that stands for one. */
  readonly schemas: ReadonlyArray<Schema.JsonObject>
  readonly progress: Progress
  /** For the log. */
  readonly leftOut: ReadonlyArray<string>
}

/**
 * The client decodes a page of tools as a whole and twice, fails with one that is odd, and follows 100 pages
 * of 4 MiB. This makes of a raw page one that is decoded in no time: the tools that decode and are neither
 * too large nor too deep, with nothing but what we use, and their input schemas aside. Over all pages 128 with 512 KiB of
 * schemas are kept and 256 looked at, and no more than 16 pages asked for. Others get their turn after each tool.
 */
export const readPage = Effect.fnUntraced(function* (
  protocol: McpProtocol.AnyProtocolAdapter,
  result: unknown,
  before: Progress
): Effect.fn.Return<ToolPage> {
  const { nextCursor, ...frame } = frameOf(result)
  const isDecoded = decoderOf(protocol)
  const given = Predicate.isReadonlyObject(result) && Array.isArray(result.tools) ? result.tools : undefined
  const whole = { ...frame, ...(nextCursor !== undefined && { nextCursor }) }
  const pages = before.pages + 1
  if (given === undefined || !isDecoded({ ...whole, tools: [] })) {
    // The client tells what is wrong with it.
    const broken = { ...whole, ...(given && { tools: [] }) }
    return { result: broken, schemas: [], progress: { ...before, pages }, leftOut: [] }
  }
  const tools: Array<unknown> = []
  const schemas: Array<Schema.JsonObject> = []
  const leftOut: Array<string> = []
  let { bytes, seen } = before
  for (const tool of given) {
    if (before.kept + tools.length >= maximumTools || seen >= maximumSeen) break
    seen++
    yield* Effect.yieldNow
    const usable = bare(tool)
    const isKept =
      usable !== undefined &&
      bytes + usable.bytes <= maximumListBytes &&
      isDecoded({ ...frame, tools: [usable.tool] })
    if (isKept) {
      bytes += usable.bytes
      tools.push(usable.tool)
      schemas.push(usable.schema)
    } else leftOut.push(nameOf(tool))
  }
  const kept = before.kept + tools.length
  const isFull = kept >= maximumTools || seen >= maximumSeen
  const isEnd = isFull || pages >= maximumPages || nextCursor === undefined
  if (given.length > tools.length + leftOut.length || (isEnd && nextCursor !== undefined)) {
    leftOut.push(`all beyond ${isFull ? `${kept} of the first ${seen} tools` : `${pages} pages`}`)
  }
  return {
    result: { ...(isEnd ? frame : whole), tools },
    schemas,
    progress: { pages, seen, kept, bytes },
    leftOut
  }
})

/** What the protocol needs of a page besides its tools. */
const frameOf = (result: unknown): Readonly<Record<string, unknown>> => {
  if (!Predicate.isReadonlyObject(result)) return {}
  const names = ["resultType", "ttlMs", "cacheScope", "nextCursor"]
  return Object.fromEntries(
    names.flatMap((name) => (result[name] === undefined ? [] : [[name, result[name]] as const]))
  )
}

/** Whether the client will decode a page: by the wire schema and by the public one. */
const decoderOf = (protocol: McpProtocol.AnyProtocolAdapter) => {
  const rpc = protocol.clientRpcs.requests.get("tools/list") as
    | { successSchema?: Schema.Constraint }
    | undefined
  const decoders = [rpc?.successSchema, McpSchema.ListTools.successSchema].flatMap((schema) =>
    schema === undefined
      ? []
      : [Schema.decodeUnknownOption(schema as Schema.ConstraintCodec<unknown, unknown>)]
  )
  // Older servers of this version leave it out, and the client puts it in.
  const discriminator = protocol.protocolVersion === "2026-07-28" ? { resultType: "complete" } : {}
  return (page: object) => decoders.every((decode) => Option.isSome(decode({ ...discriminator, ...page })))
}

/** A tool with nothing but what we use, unless it is too large, or can only be run as a task. */
const bare = (
  tool: unknown
): { readonly tool: object; readonly schema: Schema.JsonObject; readonly bytes: number } | undefined => {
  if (!Predicate.isReadonlyObject(tool)) return undefined
  const { annotations, description, execution, inputSchema, name, title } = tool
  // Under a name that can't be kept it could not be found again.
  if (typeof name !== "string" || name.length > longestName || storableText(name) !== name) return undefined
  if (!isReasonable(inputSchema) || !isSchema(inputSchema)) return undefined
  const bytes = Buffer.byteLength(JSON.stringify(inputSchema))
  if (bytes > maximumSchemaBytes) return undefined
  if (Predicate.isReadonlyObject(execution) && execution.taskSupport === "required") return undefined
  return {
    schema: inputSchema,
    bytes,
    tool: {
      name,
      inputSchema: { type: "object" },
      ...(typeof title === "string" && { title: title.slice(0, longestText) }),
      ...(typeof description === "string" && { description: description.slice(0, longestText) }),
      annotations: hintsOf(Predicate.isReadonlyObject(annotations) ? annotations : {})
    }
  }
}

/**
 * All of them, since the client would make a tool that does not say it destructive; those are so that say it. Saying
 * what goes without saying changes no tool.
 */
const hintsOf = (annotations: Readonly<Record<string, unknown>>) => ({
  readOnlyHint: annotations.readOnlyHint === true,
  destructiveHint: annotations.destructiveHint === true,
  idempotentHint: annotations.idempotentHint === true,
  openWorldHint: annotations.openWorldHint !== false
})

/** What `McpSchema.ToolJson` says, at a small part of its price. */
const isSchema = (value: unknown): value is Schema.JsonObject => {
  if (!isRecord(value) || value.type !== "object") return false
  const { properties, required } = value
  return (
    (properties === undefined ||
      (isRecord(properties) &&
        Object.values(properties).every((inner) => typeof inner === "boolean" || isRecord(inner)))) &&
    (required === undefined ||
      (Array.isArray(required) && required.every((inner) => typeof inner === "string")))
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isReadonlyObject(value) && !Array.isArray(value)

/**
 * Whether it may be small and is not too deep: beyond reason, it would overflow the stack of whoever reads
 * it. Ends as soon as the answer is no, since a schema may be as large as a page.
 */
const isReasonable = (schema: unknown): boolean => {
  let bytes = 0
  const visit = (value: unknown, depth: number): boolean => {
    bytes += typeof value === "string" ? value.length : 1
    if (bytes > maximumSchemaBytes) return false
    if (typeof value !== "object" || value === null) return true
    if (depth >= deepestSchema) return false
    if (Array.isArray(value)) return value.every((inner) => visit(inner, depth + 1))
    return Object.entries(value).every(([key, inner]) => {
      bytes += key.length
      return visit(inner, depth + 1)
    })
  }
  return visit(schema, 0)
}

const nameOf = (tool: unknown): string =>
  Predicate.isReadonlyObject(tool) && typeof tool.name === "string"
    ? cut(tool.name.slice(0, longestName), 100)
    : "(no name)"
