import * as Schema from "effect/Schema"
import { ChatEvent, errorEvent, event } from "./ChatEvent.ts"
import type { ConnectorReference } from "./Connector.ts"
import { type MessageId, RunId } from "./Ids.ts"
import type { StoredRun, Turn } from "./Run.ts"
import type { ToolCall, ToolResult } from "./Tool.ts"
import { Usage } from "./Usage.ts"

/** What a run tells while it works: of a turn the events of the chat stream, of a task the same without a message. */
export const RunEvent = Schema.Union([
  ...ChatEvent.members,
  event(
    "status",
    Schema.Struct({ status: Schema.Literal("responding"), delta: Schema.String }).annotate({
      identifier: "TaskStatusEventData"
    })
  ),
  event(
    "done",
    Schema.Struct({ runId: RunId, output: Schema.String, usage: Usage }).annotate({
      identifier: "TaskDoneEventData"
    })
  )
])
export type RunEvent = typeof RunEvent.Type

/** An event with its place in the stream of its run; places grow, and may leave gaps. */
export const NumberedEvent = Schema.Struct({ id: Schema.Int, event: RunEvent })
export type NumberedEvent = typeof NumberedEvent.Type

/** Events that are kept together, in order. */
export type EventBatch = readonly [NumberedEvent, ...ReadonlyArray<NumberedEvent>]

/** The model was asked. */
export const thinking: RunEvent = { event: "status", data: { status: "thinking" } }

/** The same, of a turn in which connectors can't be reached. */
export const thinkingWithout = (connectors: ReadonlyArray<ConnectorReference>): RunEvent =>
  connectors.length === 0
    ? thinking
    : {
        event: "status",
        data: { status: "thinking", unavailableConnectors: connectors.map(({ id, name }) => ({ id, name })) }
      }

/** The model says more; of a chat turn, in the message that will be its reply. */
export const responding = (messageId: MessageId | null, delta: string): RunEvent =>
  messageId === null
    ? { event: "status", data: { status: "responding", delta } }
    : { event: "status", data: { status: "responding", messageId, delta } }

/** The call of a tool, as callers see it: without what only the provider needs. */
export const toolCalled = ({ arguments: argument, id, name }: ToolCall): RunEvent => ({
  event: "tool_call",
  data: { id, name, arguments: argument }
})

export const toolAnswered = (result: ToolResult): RunEvent => ({ event: "tool_result", data: result })

/** The run waits until somebody decides about this call. */
export const waitingApproval = (approvalId: string, toolCallId: string): RunEvent => ({
  event: "status",
  data: { status: "waiting_approval", approvalId, toolCallId }
})

/** What a run told so far, as far as going on needs it. */
export interface Told {
  readonly lastId: number
  /** Whether the last event says that the run waits for people: nothing was told after it. */
  readonly isParked: boolean
  /** Where each model answer begins, by its `thinking`. */
  readonly answers: ReadonlyArray<number>
  /** The tool calls and results that were told of. */
  readonly told: ReadonlySet<string>
}

export const nothingTold: Told = { lastId: 0, isParked: false, answers: [], told: new Set() }

const statusOf = ({ data, event }: RunEvent) =>
  event === "status" && "status" in data ? data.status : undefined

export const isThinking = (event: RunEvent): boolean => statusOf(event) === "thinking"

export const isResponding = (event: RunEvent): boolean => statusOf(event) === "responding"

const toolKey = ({ data, event }: RunEvent): string | undefined =>
  (event === "tool_call" || event === "tool_result") && "id" in data ? `${event} ${data.id}` : undefined

/** Whether a tool call or result was told of before: each of them is told once. */
export const isTold = ({ told }: Told, event: RunEvent): boolean => told.has(toolKey(event) ?? "")

/** What is told when this has been told as well. */
export const tell = (state: Told, { event, id }: NumberedEvent): Told => {
  const key = toolKey(event)
  return {
    lastId: id,
    isParked: statusOf(event) === "waiting_approval",
    answers: isThinking(event) ? [...state.answers, id] : state.answers,
    told: key === undefined ? state.told : new Set(state.told).add(key)
  }
}

/** From which event on what was told is void: where the answer begins that comes after `answers` finished ones. */
export const voidFrom = (state: Told, answers: number): number | undefined => state.answers[answers]

/** Without what is void. Ids are not used again: somebody may have read them. */
export const withoutVoid = (state: Told, answers: number): Told => ({
  ...state,
  answers: state.answers.slice(0, answers)
})

/** How many ids each execution has for itself. */
export const stride = 1_000_000

/**
 * For the execution of this epoch, after others. What the one before it told last may not have been kept, so
 * each has a range of ids of its own; not if the one before parked, which is kept before it is told.
 */
export const resumed = (state: Told, epoch: number): Told =>
  state.isParked ? state : { ...state, lastId: Math.max(state.lastId, (epoch - 1) * stride) }

/** Ends that are written by somebody else than who told the rest, or where not all that was told could be kept. */
const isCutOff = ({ epoch, errorCode, status }: StoredRun, lastId: number): boolean => {
  if (
    lastId === 0 ||
    status === "CANCELLED" ||
    errorCode === "worker_lost" ||
    errorCode === "internal_error"
  ) {
    return true
  }
  // An execution that failed before it told anything may have followed one of which not all was kept.
  return status === "FAILED" && errorCode !== "approval_expired" && lastId <= (epoch - 1) * stride
}

/**
 * The id of the end of a run that is over, `lastId` being that of its last kept event, or 0: the next one, if surely
 * nothing was told behind that; else one that no execution used. So whoever asks from there on has read the end, and
 * whoever read less has a smaller id (CONTRACT.md section 8).
 */
export const endIdOf = (run: StoredRun, lastId: number): number =>
  isCutOff(run, lastId) ? Math.max(lastId + 1, run.epoch * stride) : lastId + 1

/** How the stream of a run ends that is over: it follows from the run, and so is never lost. */
export const endOf = (run: StoredRun): RunEvent | undefined => {
  switch (run.status) {
    case "COMPLETED": {
      const { finishedAt, id, output, turn, usage } = run
      return turn === null
        ? { event: "done", data: { runId: id, output: output ?? "", usage } }
        : doneEvent(turn, output ?? "", finishedAt ?? run.updatedAt, usage)
    }
    case "FAILED":
      return errorEvent(run.errorCode ?? "failed", run.error ?? "it failed")
    case "CANCELLED":
      return errorEvent("cancelled", run.turn === null ? "the run was cancelled" : "the answer was cancelled")
    default:
      return undefined
  }
}

const doneEvent = (
  { conversationId, replyId }: Turn,
  content: string,
  createdAt: Date,
  usage: Usage
): RunEvent => ({
  event: "done",
  data: { conversationId, message: { id: replyId, role: "ASSISTANT", content, createdAt }, usage }
})

/** `done` and `error` end a stream, exactly one of them. */
export const isEnd = ({ event }: RunEvent): boolean => event === "done" || event === "error"
