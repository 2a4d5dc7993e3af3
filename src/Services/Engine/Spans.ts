import * as Effect from "effect/Effect"
import { externalSpan } from "effect/Tracer"
import type { StoredAgent } from "../../Schemas/Agent.ts"
import * as GenAi from "../../Schemas/GenAi.ts"
import type { InferenceRequest } from "../../Schemas/Inference.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import type { ToolCall, ToolResult } from "../../Schemas/Tool.ts"
import type { ToolBinding } from "../../Schemas/ToolBinding.ts"
import { executionSpanId, readTraceparent } from "../../Schemas/TraceContext.ts"
import type { CountedUsage, Usage } from "../../Schemas/Usage.ts"
import type { Model } from "../Inference.ts"
import { annotate, spanned, traceparent, within } from "../Telemetry.ts"

/** Where an epoch of a run is in the trace in which the run was made: an execution, or that it was retried. */
const epochSpan = (run: StoredRun) => {
  const made = readTraceparent(run.traceparent)
  if (made === undefined) return { parent: null, links: [] }
  const before = { ...made, spanId: executionSpanId(run.id, run.epoch - 1) }
  return {
    parent: externalSpan(made),
    spanId: executionSpanId(run.id, run.epoch),
    links: run.epoch > 1 ? [{ span: externalSpan(before), attributes: { "agentd.link": "before" } }] : []
  }
}

/**
 * An execution, as part of the trace in which its run was made: whoever takes the run up and however much later, it is
 * the same trace, and links to the execution before. Without spans it only belongs to that trace.
 */
export const execution =
  (run: StoredRun) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    spanned(
      () => ({ ...GenAi.invokeAgent(run), ...epochSpan(run) }),
      typeOf
    )(work).pipe(within(run.traceparent))

/** That a run was retried, which is an epoch of its own: in the trace of the run, with a link to who asked for it. */
export const retried = (run: StoredRun): Effect.Effect<void> =>
  Effect.flatMap(traceparent, (asked) =>
    spanned(() => {
      const by = readTraceparent(asked)
      const span = epochSpan(run)
      const link = by && { span: externalSpan(by), attributes: { "agentd.link": "asked_by" } }
      return {
        name: "retry_run",
        attributes: { "agentd.run.id": run.id, "agentd.workspace.id": run.workspaceId },
        ...span,
        links: [...span.links, ...(link === undefined ? [] : [link])]
      }
    })(Effect.void)
  )

/** Names the agent of an execution as soon as it is known. */
export const agentFound = (agent: StoredAgent | null): Effect.Effect<void> =>
  agent === null
    ? Effect.void
    : annotate(
        () => GenAi.agentAttributes(agent.name),
        () => GenAi.agentNamed(agent.name)
      )

/** How an execution ends. */
export const executed = (
  ending: string | { readonly status: string; readonly code?: string },
  usage: () => Usage
): Effect.Effect<void> =>
  annotate(() => GenAi.executed(typeof ending === "string" ? { status: ending } : ending, usage()))

/** A question to a model. What is no failure of the model (it may not begin, or no more) is none of the span. */
export const asking =
  (
    { answeredBy }: Model,
    request: InferenceRequest,
    answer: () => {
      readonly text: string
      readonly toolCalls: ReadonlyArray<ToolCall>
      readonly usage?: CountedUsage | undefined
    }
  ) =>
  <A, E, R>(ask: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    spanned(({ captureContent }) => {
      const span = GenAi.chat(answeredBy)
      return captureContent
        ? { ...span, attributes: { ...span.attributes, ...GenAi.questionContent(request) } }
        : span
    }, typeOf)(
      Effect.ensuring(
        ask,
        annotate(({ captureContent }) => {
          const { text, toolCalls, usage } = answer()
          return {
            ...GenAi.counted(usage),
            ...(captureContent && GenAi.answerContent(text, toolCalls))
          }
        })
      )
    )

/** A call of a tool. What a tool answers as an error is one. */
export const calling =
  (call: ToolCall, destination: { readonly binding: ToolBinding | null } | undefined) =>
  <A extends { readonly result: ToolResult }, E, R>(made: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    spanned(({ captureContent }) => {
      const span = GenAi.executeTool(call, destination)
      return captureContent
        ? { ...span, attributes: { ...span.attributes, ...GenAi.argumentContent(call.arguments) } }
        : span
    }, typeOf)(
      Effect.tap(made, ({ result }) =>
        annotate(({ captureContent }) => ({
          "error.type": result.isError ? "tool_error" : undefined,
          ...(captureContent && GenAi.resultContent(result.result))
        }))
      )
    )

/** The word for programs of a failure; nothing where the work only ends here. */
const typeOf = (error: unknown): string | undefined => {
  const { _tag, limit, reason } = error as { _tag?: string; limit?: string; reason?: string }
  switch (_tag) {
    case "ApprovalNeeded":
    case "HandedBack":
    case "OwnershipLost":
      return undefined
    case "BudgetExceeded":
      return "budget_exceeded"
    case "InferenceError":
      return reason
    case "InvalidOutput":
      return "invalid_output"
    case "LimitExceeded":
      return `${limit}_exceeded`
    case "ToolUnavailable":
      return "tool_unavailable"
    default:
      return _tag ?? "_OTHER"
  }
}
