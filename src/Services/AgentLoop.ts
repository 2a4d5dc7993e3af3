import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../Schemas/Errors.ts"
import { InferenceError, type InferenceRequest, type PromptMessage } from "../Schemas/Inference.ts"
import type { JournalStep } from "../Schemas/Journal.ts"
import type { ToolCall, ToolResult } from "../Schemas/Tool.ts"
import { addUsage, noUsage, type Usage } from "../Schemas/Usage.ts"
import { now } from "./CurrentTime.ts"
import { Inference } from "./Inference.ts"
import type { Journal } from "./RunJournal.ts"
import { Settings } from "./Settings.ts"
import type { Tool } from "./ToolSource.ts"

/** What happens while an agent works, in order. */
export type LoopEvent =
  | { readonly type: "thinking" }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | { readonly type: "tool_result"; readonly result: ToolResult }

/** The work went over one of its bounds (CONTRACT.md section 5). */
export class LimitExceeded extends Schema.TaggedError<LimitExceeded>()("LimitExceeded", {
  limit: Schema.Literals(["steps", "model_time", "tool_time", "output"]),
  error: Schema.String
}) {}

/** Another worker has taken the work over, or it is gone: nothing more may be written. */
export class OwnershipLost extends Schema.TaggedError<OwnershipLost>()("OwnershipLost", {}) {}

export interface LoopInput {
  readonly request: Omit<InferenceRequest, "tools">
  readonly tools: ReadonlyArray<Tool>
  readonly journal: Journal
  readonly emit: (event: LoopEvent) => Effect.Effect<void>
}

/** The text of the last model answer, all text together, and what it cost. */
export interface LoopResult {
  readonly answer: string
  readonly text: string
  readonly usage: Usage
}

export type LoopError = InferenceError | LimitExceeded | OwnershipLost | Unavailable

/** The one agent loop, for chat turns and runs: ask the model, run its tools, until it only answers. */
export class AgentLoop extends Context.Service<
  AgentLoop,
  {
    /**
     * Works until the model answers without a tool call. Bounded in steps (model answers and tool
     * results), in time per model call and tool call, and in text. Each finished step is kept in the
     * journal before the next begins; steps that the journal holds already are not done again.
     */
    readonly run: (input: LoopInput) => Effect.Effect<LoopResult, LoopError>
  }
>()("agentd/Services/AgentLoop") {
  static readonly layer = Layer.effect(
    AgentLoop,
    Effect.gen(function* () {
      const inference = yield* Inference
      const settings = yield* Settings

      const askModel = Effect.fn("AgentLoop.askModel")(function* (
        input: LoopInput,
        messages: ReadonlyArray<PromptMessage>,
        room: number
      ) {
        yield* input.emit({ type: "thinking" })
        const answer = { text: "", toolCalls: [] as Array<ToolCall>, usage: undefined as Usage | undefined }
        const request = { ...input.request, messages, tools: input.tools.map((tool) => tool.definition) }
        yield* inference.stream(request).pipe(
          Stream.runForEach((event) => {
            switch (event.type) {
              case "text":
                answer.text += event.delta
                return answer.text.length > room
                  ? Effect.fail(outputExceeded(settings.maxOutputLength))
                  : input.emit(event)
              case "tool_call":
                answer.toolCalls.push(event.call)
                return Effect.void
              case "finish":
                answer.usage = event.usage
                return Effect.void
            }
          }),
          Effect.timeoutOrElse({
            duration: settings.modelTimeoutMillis,
            orElse: () =>
              Effect.fail(
                new LimitExceeded({
                  limit: "model_time",
                  error: `the model did not answer within ${settings.modelTimeoutMillis / 1000} s`
                })
              )
          })
        )
        if (answer.usage === undefined) {
          return yield* new InferenceError({
            reason: "truncated",
            error: "the answer of the model was cut off"
          })
        }
        return { type: "model" as const, text: answer.text, toolCalls: answer.toolCalls, usage: answer.usage }
      })

      const callTool = Effect.fn("AgentLoop.callTool")(function* (
        tools: ReadonlyArray<Tool>,
        call: ToolCall
      ) {
        const tool = tools.find((candidate) => candidate.definition.name === call.name)
        const startedAt = yield* now
        const outcome =
          tool === undefined
            ? { result: `There is no tool named ${call.name}.`, isError: true }
            : yield* tool.call(call.arguments).pipe(
                Effect.map((result): { result: Schema.Json; isError: boolean } => ({
                  result,
                  isError: false
                })),
                Effect.catchTag("ToolError", ({ error }) => Effect.succeed({ result: error, isError: true })),
                Effect.timeoutOrElse({
                  duration: settings.toolTimeoutMillis,
                  orElse: () =>
                    Effect.fail(
                      new LimitExceeded({
                        limit: "tool_time",
                        error: `the tool ${call.name} did not answer within ${settings.toolTimeoutMillis / 1000} s`
                      })
                    )
                })
              )
        const durationMs = (yield* now).getTime() - startedAt.getTime()
        return { type: "tool" as const, result: { id: call.id, name: call.name, ...outcome, durationMs } }
      })

      const run = Effect.fn("AgentLoop.run")(function* (input: LoopInput) {
        let index = 0
        const step = <S extends JournalStep, E, R>(type: S["type"], perform: Effect.Effect<S, E, R>) =>
          Effect.gen(function* () {
            if (index >= settings.maxSteps) {
              return yield* new LimitExceeded({
                limit: "steps",
                error: `more than ${settings.maxSteps} steps`
              })
            }
            const known = input.journal.finished[index]
            if (known !== undefined && known.type === type) {
              index++
              return known as S
            }
            const performed = yield* perform
            if (!(yield* input.journal.record(index, performed))) return yield* new OwnershipLost()
            index++
            return performed
          })

        let messages = input.request.messages
        let text = ""
        let usage = noUsage
        while (true) {
          const answer: Extract<JournalStep, { type: "model" }> = yield* step(
            "model",
            askModel(input, messages, settings.maxOutputLength - text.length)
          )
          text += answer.text
          usage = addUsage(usage, answer.usage)
          if (answer.toolCalls.length === 0) return { answer: answer.text, text, usage }

          const results: Array<ToolResult> = []
          for (const call of answer.toolCalls) {
            yield* input.emit({ type: "tool_call", call })
            const performed: Extract<JournalStep, { type: "tool" }> = yield* step(
              "tool",
              callTool(input.tools, call)
            )
            yield* input.emit({ type: "tool_result", result: performed.result })
            results.push(performed.result)
          }
          messages = [
            ...messages,
            { role: "assistant", content: answer.text, toolCalls: answer.toolCalls },
            { role: "tool", results }
          ]
        }
      })

      return AgentLoop.of({ run })
    })
  )
}

const outputExceeded = (maximum: number) =>
  new LimitExceeded({ limit: "output", error: `more than ${maximum} characters of text` })
