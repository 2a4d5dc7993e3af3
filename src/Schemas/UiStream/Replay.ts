import type { Chunk } from "./Chunks.ts"
import type { UiPart } from "./Messages.ts"

/** What a message holds already, as a stream tells it that makes the message anew. */
export const replayed = (parts: ReadonlyArray<UiPart>): ReadonlyArray<Chunk> =>
  parts.flatMap((part, index): ReadonlyArray<Chunk> => {
    switch (part.type) {
      case "step-start":
        return [{ type: "start-step" }]
      case "text": {
        const id = `before_${index}`
        return [
          { type: "text-start", id },
          { type: "text-delta", id, delta: part.text },
          { type: "text-end", id }
        ]
      }
      default:
        return toolChunks(part)
    }
  })

const toolChunks = ({ errorText, input, output, providerExecuted, state, toolCallId, toolName }: UiPart) => {
  const of = { toolCallId, dynamic: true, ...(providerExecuted === true && { providerExecuted }) }
  const called = { type: "tool-input-available", ...of, toolName, input }
  if (state === "output-available") return [called, { type: "tool-output-available", ...of, output }]
  if (state === "output-error") return [called, { type: "tool-output-error", ...of, errorText }]
  return [called]
}
