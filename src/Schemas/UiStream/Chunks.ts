import type * as Schema from "effect/Schema"
import type { Approval } from "../Approval.ts"
import type { NumberedEvent, RunEvent } from "../RunEvent.ts"

/** A piece of a UI message stream (v1), as the AI SDK has it; what is undefined is left out. */
export interface Chunk {
  readonly type: string
  readonly [field: string]: unknown
}

/** What a stream tells of the message that it makes. */
export interface Subject {
  /** What the message is called: a client that has it already goes on with it, or makes it anew. */
  readonly messageId: string
  readonly turnId: string
  readonly conversationId: string
  readonly agentId: string | null
  /** Whether a call is for the caller to execute, not for the service. */
  readonly isOfCaller: (tool: string) => boolean
}

/** What the result of a call that nobody executes here is to be told with. */
export type Decisions = ReadonlyMap<string, Pick<Approval, "id" | "status" | "reason" | "description">>

const noDecisions: Decisions = new Map()

/**
 * Tells the events of a turn as a UI message stream. Each answer of the model is a step of the message. An answer that
 * was begun by an execution that was lost is void: `reset-step` takes it back, and the answer that comes in its place
 * is told in the same step. Calls and results are told once, whatever was told of them before.
 */
export const makeTelling = (subject: Subject) => {
  let isInStep = false
  /** The number of the text that is open, of those of the message. */
  let openText: number | undefined
  let texts = 0
  let isAnythingSaid = false
  /** Since the step began. */
  let isCalling = false
  let isSaying = false
  const called = new Map<string, string>()
  const answered = new Set<string>()
  const asked = new Set<string>()

  const endText = (): ReadonlyArray<Chunk> => {
    const id = openText
    openText = undefined
    return id === undefined ? [] : [{ type: "text-end", id: textId(id) }]
  }

  const endStep = (): ReadonlyArray<Chunk> => {
    const chunks = [...endText(), ...(isInStep ? [{ type: "finish-step" }] : [])]
    isInStep = false
    return chunks
  }

  const beginStep = (): ReadonlyArray<Chunk> => {
    if (isInStep && !isCalling) {
      // Whoever asked before did not come to an end: what it said is void.
      const wasSaying = isSaying
      openText = undefined
      isSaying = false
      return wasSaying ? [{ type: "reset-step" }] : []
    }
    const chunks = [...endStep(), { type: "start-step" }]
    isInStep = true
    isCalling = false
    isSaying = false
    return chunks
  }

  const say = (delta: string): ReadonlyArray<Chunk> => {
    const chunks: Array<Chunk> = []
    if (!isInStep) chunks.push(...beginStep())
    isAnythingSaid = true
    isSaying = true
    if (openText === undefined) {
      openText = texts++
      chunks.push({ type: "text-start", id: textId(openText) })
    }
    return [...chunks, { type: "text-delta", id: textId(openText), delta }]
  }

  const call = (id: string, name: string, input: Schema.Json): ReadonlyArray<Chunk> => {
    if (called.has(id)) return []
    called.set(id, name)
    const chunks = [...(isInStep ? [] : beginStep()), ...endText()]
    isCalling = true
    return [
      ...chunks,
      {
        type: "tool-input-available",
        toolCallId: id,
        toolName: name,
        input,
        dynamic: true,
        ...(!subject.isOfCaller(name) && { providerExecuted: true })
      }
    ]
  }

  const result = (
    { id, isError, result }: { readonly id: string; readonly isError: boolean; readonly result: Schema.Json },
    decisions: Decisions
  ): ReadonlyArray<Chunk> => {
    if (answered.has(id) || !called.has(id)) return []
    answered.add(id)
    const of = { toolCallId: id, dynamic: true, providerExecuted: true }
    if (!isError) return [{ type: "tool-output-available", ...of, output: result }]
    if (decisions.get(id)?.status === "REJECTED") return [{ type: "tool-output-denied", toolCallId: id }]
    return [{ type: "tool-output-error", ...of, errorText: textOf(result) }]
  }

  /** What people are asked, and what they have said. */
  const ask = (decisions: Decisions): ReadonlyArray<Chunk> =>
    Array.from(decisions).flatMap(([toolCallId, { description, id, reason, status }]) => {
      if (asked.has(id) || answered.has(toolCallId) || !called.has(toolCallId)) return []
      asked.add(id)
      return [
        {
          type: "tool-approval-request",
          approvalId: id,
          toolCallId,
          ...(description !== null && { approvalDescriptor: { description } })
        },
        ...(status === "PENDING" ? [] : [decided(id, status === "APPROVED", reason)])
      ]
    })

  const end = (finish: Chunk): ReadonlyArray<Chunk> => [...endStep(), finish]

  const takeStatus = (
    data: Extract<RunEvent, { readonly event: "status" }>["data"],
    decisions: Decisions
  ) => {
    switch (data.status) {
      case "thinking": {
        const { unavailableConnectors } = data
        return [
          ...beginStep(),
          ...(unavailableConnectors === undefined
            ? []
            : [{ type: "data-unavailable-connectors", data: unavailableConnectors, transient: true }])
        ]
      }
      case "responding":
        return say(data.delta)
      case "waiting_approval":
        return ask(decisions)
    }
  }

  const metadata = {
    conversationId: subject.conversationId,
    turnId: subject.turnId,
    agentId: subject.agentId
  }

  return {
    start: { type: "start", messageId: subject.messageId, messageMetadata: metadata } satisfies Chunk,
    /** What an event says, with what people have decided where it tells of that. */
    take: ({ event }: NumberedEvent, decisions: Decisions = noDecisions): ReadonlyArray<Chunk> => {
      switch (event.event) {
        case "conversation":
          return [{ type: "data-conversation", data: event.data, transient: true }]
        case "status":
          return takeStatus(event.data, decisions)
        case "tool_call":
          return call(event.data.id, event.data.name, event.data.arguments)
        case "tool_result":
          return result(event.data, decisions)
        case "done": {
          const { data } = event
          const content = "message" in data ? data.message.content : data.output
          const isOfCaller = Array.from(called).some(
            ([id, name]) => !answered.has(id) && subject.isOfCaller(name)
          )
          return [
            // Events are forgotten after a while, and the reply is not.
            ...(isAnythingSaid || content === "" ? [] : say(content)),
            ...end({
              type: "finish",
              finishReason: isOfCaller ? "tool-calls" : "stop",
              messageMetadata: { ...metadata, usage: data.usage }
            })
          ]
        }
        case "error":
          return event.data.code === "cancelled"
            ? end({ type: "abort", reason: event.data.error })
            : [...endText(), { type: "error", errorText: event.data.error }]
      }
    },
    result,
    /** Whether somebody has to decide about a call that was told of. */
    isWaiting: (decisions: Decisions): boolean =>
      Array.from(decisions).some(
        ([id, { status }]) => status === "PENDING" && called.has(id) && !answered.has(id)
      ),
    /** The message is whole until people have decided. */
    pause: () => end({ type: "finish", finishReason: "tool-calls", messageMetadata: metadata }),
    /** How somebody else has decided about what the client was asked. */
    decided
  }
}

const decided = (approvalId: string, approved: boolean, reason: string | null): Chunk => ({
  type: "tool-approval-response",
  approvalId,
  approved,
  ...(reason !== null && { reason })
})

const textId = (number: number): string => `text_${number}`

const textOf = (result: Schema.Json): string => (typeof result === "string" ? result : JSON.stringify(result))
