import type * as McpSchema from "effect/ai/McpSchema"
import * as Schema from "effect/Schema"
import { ConversationId, RunId } from "../../../../Schemas/Ids.ts"
import { MemoryDetail, MemoryEntry } from "../../../../Schemas/MemoryEntry.ts"
import { Run, RunDetail } from "../../../../Schemas/Run.ts"
import { cut } from "../../../../Schemas/Text.ts"
import { Usage } from "../../../../Schemas/Usage.ts"

/** What a call answers (`McpSchema.CallToolResult`), as it is sent. */
export interface ToolAnswer {
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>
  readonly structuredContent?: Schema.JsonObject
  readonly isError: boolean
  readonly _meta?: Schema.JsonObject
}

/** A run as a model reads it: what it was asked, what came of it, and what it cost, without its steps. */
const { steps: _, attempts: __, firstTokenAt: ___, ...shownFields } = RunDetail.fields
export const RunShown = Schema.Struct(shownFields).annotate({ identifier: "RunShown" })
export type RunShown = typeof RunShown.Type

/** Of a list: texts are cut, so that many of them fit. */
export const RunsShown = Schema.Struct({
  runs: Schema.Array(Run),
  total: Schema.Int,
  nextCursor: Schema.NullOr(Schema.String)
})

export const Reply = Schema.Struct({
  conversationId: ConversationId,
  turnId: RunId,
  reply: Schema.String,
  usage: Usage
})

export const Remembered = MemoryEntry

export const Recalled = Schema.Struct({ entries: Schema.Array(MemoryDetail) })

/** The schema of what a call answers, as clients are told, and how a value of it is written. */
export const outputOf = <A>(schema: Schema.Codec<A, unknown>) => {
  const encode = Schema.encodeSync(Schema.toCodecJson(schema))
  return {
    schema: objectSchema(Schema.toCodecJson(schema)),
    encode: (value: A) => encode(value) as Schema.JsonObject
  }
}

/** JSON Schema 2020-12 with everything in one object: some clients follow no references. */
export const objectSchema = (schema: Schema.Top): McpSchema.ToolJson => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline)
    if (typeof value !== "object" || value === null) return value
    const { $ref, ...rest } = value as { readonly $ref?: string }
    const name = $ref?.replace("#/$defs/", "")
    const found = name === undefined ? {} : (inline(definitions[name]) as object)
    return {
      ...found,
      ...Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inline(inner)]))
    }
  }
  return inline(root) as McpSchema.ToolJson
}

/** A value and the same as text, for clients that read text alone. */
export const structured = (content: Schema.JsonObject, text = JSON.stringify(content)): ToolAnswer => ({
  content: [{ type: "text", text }],
  structuredContent: content,
  isError: false
})

interface Failure {
  readonly _tag: string
  readonly error: string
}

/** `AgentInactive` is `agent_inactive`, the word of `X-Error-Code`. */
const codeOf = (tag: string): string => tag.replace(/(?!^)[A-Z]/gu, "_$&").toLowerCase()

/** A refusal that the model reads, and may do something about. */
export const refused = ({ _tag, error }: Failure): ToolAnswer => failed(error, codeOf(_tag))

export const failed = (text: string, code: string): ToolAnswer => ({
  content: [{ type: "text", text }],
  isError: true,
  _meta: { "agentd/errorCode": code }
})

const runOutput = outputOf(RunShown)
export const runSchema = runOutput.schema

/** A run as the answer of who asked about it. */
export const runAnswer = (run: RunDetail): ToolAnswer => structured(runOutput.encode(shown(run)))

/** The same as the answer of the agent: its text is the output. A run that has none is an error, in words. */
export const outcomeOf = (run: RunDetail): ToolAnswer => {
  const content = runOutput.encode(shown(run))
  if (run.status === "COMPLETED") return structured(content, run.output ?? "")
  const text =
    run.status === "FAILED"
      ? `The run failed: ${run.error ?? "for an unknown reason"}`
      : `The run is ${run.status}; get_run with runId ${run.id} tells how it goes on.`
  return {
    ...failed(text, run.status === "FAILED" ? "run_failed" : "run_not_completed"),
    structuredContent: content
  }
}

const shown = ({ attempts: _, firstTokenAt: __, steps: ___, ...run }: RunDetail): RunShown => run

const longestListed = 1_000

const listOutput = outputOf(RunsShown)
export const listSchema = listOutput.schema

export const listAnswer = (runs: ReadonlyArray<Run>, total: number, nextCursor: string | null): ToolAnswer =>
  structured(
    listOutput.encode({
      runs: runs.map((run) => ({
        ...run,
        prompt: cut(run.prompt, longestListed),
        output: run.output === null ? null : cut(run.output, longestListed)
      })),
      total,
      nextCursor
    })
  )

const replyOutput = outputOf(Reply)
export const replySchema = replyOutput.schema

export const replyAnswer = (reply: typeof Reply.Type): ToolAnswer =>
  structured(replyOutput.encode(reply), reply.reply)

const rememberedOutput = outputOf(Remembered)
export const rememberedSchema = rememberedOutput.schema
export const rememberedAnswer = (entry: MemoryEntry) => structured(rememberedOutput.encode(entry))

const recalledOutput = outputOf(Recalled)
export const recalledSchema = recalledOutput.schema
export const recalledAnswer = (entries: ReadonlyArray<MemoryDetail>) =>
  structured(recalledOutput.encode({ entries }))
