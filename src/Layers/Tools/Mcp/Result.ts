import type * as McpSchema from "effect/ai/McpSchema"
import type * as Schema from "effect/Schema"
import { storableJson, storableText } from "../../../Schemas/Json.ts"
import { type Scrub, scrubJson } from "../../../Schemas/Scrub.ts"

/**
 * The result of a call as a model reads it: its texts, one below the other; without a text, its structured
 * content; what is no text, as a note that it is there. What `scrub` takes out is in none of them.
 */
export const toResult = (
  { content, structuredContent }: McpSchema.CallToolResult,
  scrub: Scrub
): Schema.Json => {
  const hasText = content.some((block) => block.type === "text" || block.type === "resource")
  // The transport has parsed it from JSON; how deep it is nested, nobody has looked at.
  return hasText || structuredContent === undefined
    ? storableText(scrub(content.map(blockText).join("\n")))
    : scrubJson(storableJson(structuredContent as Schema.Json), scrub)
}

export const toText = (result: McpSchema.CallToolResult, scrub: Scrub): string => {
  const json = toResult(result, scrub)
  return typeof json === "string" ? json : JSON.stringify(json)
}

const blockText = (block: McpSchema.ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return hidden(block.type, block.mimeType, block.data)
    case "resource_link": {
      const description = block.description === undefined ? "" : `\n${block.description}`
      return `${block.title ?? block.name}: ${block.uri}${description}`
    }
    case "resource":
      return "text" in block.resource
        ? block.resource.text
        : hidden("resource", block.resource.mimeType ?? block.resource.uri, block.resource.blob)
  }
}

const hidden = (what: string, kind: string, { length }: Uint8Array): string =>
  `[${what} ${kind}, ${length} bytes: not shown]`
