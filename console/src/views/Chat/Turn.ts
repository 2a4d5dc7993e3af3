import type { RunEvent } from "../../../../src/Schemas/RunEvent.ts"

/** A call of a tool within an answer; without a result it is under way. */
export interface ToolUse {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
  readonly result?: { readonly value: unknown; readonly isError: boolean; readonly durationMs: number }
}

/** A piece of an answer: what was said, or the tools that were called then. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tools"; readonly uses: ReadonlyArray<ToolUse> }

/** An answer as it comes about. */
export interface Turn {
  readonly phase: "sending" | "thinking" | "responding" | "tools" | "waiting" | "done" | "failed"
  readonly parts: ReadonlyArray<Part>
  /** How many parts there were before the answer of the model that is under way: what it says is void if it is begun again. */
  readonly kept: number
  /** The approval that it waits for. */
  readonly approvalId: string | undefined
  /** Names of connectors that it has to do without. */
  readonly unavailable: ReadonlyArray<string>
  readonly error: { readonly code: string; readonly sentence: string } | undefined
  /** The stored reply, once there is one. */
  readonly replyId: string | undefined
}

export const sending: Turn = {
  phase: "sending",
  parts: [],
  kept: 0,
  approvalId: undefined,
  unavailable: [],
  error: undefined,
  replyId: undefined
}

export const isOver = ({ phase }: Turn): boolean => phase === "done" || phase === "failed"

/**
 * Whether the answer to a message (undefined: not told yet) is what comes behind this one, the last that is stored: neither
 * is there a reply already, nor has somebody said something since.
 */
export const isLatest = (
  last: { readonly id: string; readonly role: "USER" | "ASSISTANT" } | undefined,
  answered: string | undefined
): boolean => last?.role === "USER" && (answered === undefined || answered === last.id)

const withText = (parts: ReadonlyArray<Part>, delta: string): ReadonlyArray<Part> => {
  const last = parts.at(-1)
  if (last?.type !== "text") return delta === "" ? parts : [...parts, { type: "text", text: delta }]
  return [...parts.slice(0, -1), { type: "text", text: last.text + delta }]
}

/** The calls of one answer are told together; one that was told before a node was lost may come again. */
const withCall = (parts: ReadonlyArray<Part>, use: ToolUse): ReadonlyArray<Part> => {
  if (parts.some((part) => part.type === "tools" && part.uses.some(({ id }) => id === use.id))) return parts
  const last = parts.at(-1)
  if (last?.type !== "tools") return [...parts, { type: "tools", uses: [use] }]
  return [...parts.slice(0, -1), { type: "tools", uses: [...last.uses, use] }]
}

const withResult = (
  parts: ReadonlyArray<Part>,
  given: string,
  result: NonNullable<ToolUse["result"]>
): ReadonlyArray<Part> =>
  parts.map((part) =>
    part.type === "tools"
      ? { ...part, uses: part.uses.map((use) => (use.id === given ? { ...use, result } : use)) }
      : part
  )

/** With one event more. A `thinking` that follows one without a tool between them begins its answer again (docs/streams.md). */
export const next = (turn: Turn, { data, event }: RunEvent): Turn => {
  switch (event) {
    case "status": {
      if ("delta" in data) {
        return {
          ...turn,
          phase: "responding",
          parts: withText(turn.parts, data.delta),
          approvalId: undefined
        }
      }
      if (!("status" in data)) return turn
      if (data.status === "waiting_approval")
        return { ...turn, phase: "waiting", approvalId: data.approvalId }
      if (data.status !== "thinking") return turn
      const isAgain = turn.phase === "thinking" || turn.phase === "responding"
      const parts = isAgain ? turn.parts.slice(0, turn.kept) : turn.parts
      const unavailable =
        "unavailableConnectors" in data ? data.unavailableConnectors?.map(({ name }) => name) : undefined
      return {
        ...turn,
        phase: "thinking",
        parts,
        kept: parts.length,
        approvalId: undefined,
        unavailable: unavailable ?? turn.unavailable
      }
    }
    case "tool_call": {
      if (!("arguments" in data)) return turn
      return { ...turn, phase: "tools", parts: withCall(turn.parts, data), approvalId: undefined }
    }
    case "tool_result": {
      if (!("result" in data)) return turn
      const result = { value: data.result, isError: data.isError, durationMs: data.durationMs }
      return {
        ...turn,
        phase: "tools",
        parts: withResult(turn.parts, data.id, result),
        approvalId: undefined
      }
    }
    case "done":
      return {
        ...turn,
        phase: "done",
        approvalId: undefined,
        replyId: "message" in data ? data.message.id : undefined
      }
    case "error":
      return "code" in data
        ? {
            ...turn,
            phase: "failed",
            approvalId: undefined,
            error: { code: data.code, sentence: data.error }
          }
        : turn
    default:
      return turn
  }
}
