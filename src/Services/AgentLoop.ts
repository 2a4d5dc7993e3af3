import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../Schemas/Errors.ts"
import { InferenceError, type PromptMessage } from "../Schemas/Inference.ts"
import type { JournalStep } from "../Schemas/Journal.ts"
import { type LimitExceeded, outputExceeded, stepsExceeded, tooSlow } from "../Schemas/Limits.ts"
import { makeAnswer } from "../Schemas/ModelAnswer.ts"
import type { ModelChoice } from "../Schemas/ModelChoice.ts"
import { fitPrompt, fitTools, promptBudget } from "../Schemas/Prompt.ts"
import { ToolCall, type ToolDefinition, type ToolResult } from "../Schemas/Tool.ts"
import { addUsage, noUsage, type Usage } from "../Schemas/Usage.ts"
import { Inference, type Model } from "./Inference.ts"
import type { Journal } from "./RunJournal.ts"
import { Settings } from "./Settings.ts"
import { allowed, brokenOff, callTool, type Permission } from "./ToolCalls.ts"
import { IdempotencyKey, type Tool } from "./ToolSource.ts"

/** What happens while an agent works, in order; `usage` is what it has cost so far. */
export type LoopEvent =
  | { readonly type: "thinking" }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | { readonly type: "tool_result"; readonly result: ToolResult }
  | { readonly type: "usage"; readonly usage: Usage }

/** Another worker has taken the work over, or it is gone: nothing more may be written. */
export class OwnershipLost extends Schema.TaggedError<OwnershipLost>()("OwnershipLost", {}) {}

/** Calls of the last answer that somebody must decide about; everything else of it is done and kept. */
export class ApprovalNeeded extends Schema.TaggedError<ApprovalNeeded>()("ApprovalNeeded", {
  calls: Schema.Array(ToolCall)
}) {}

export interface LoopInput {
  readonly request: {
    readonly choice: ModelChoice
    readonly system: string | null
    readonly messages: ReadonlyArray<PromptMessage>
  }
  readonly tools: ReadonlyArray<Tool>
  readonly journal: Journal
  /** What the work is known by: calls are known by it and their own id. */
  readonly key: string
  /**
   * What is done about a database that is away in the middle of a step: waited for within it, so that the
   * steps beside it go on, or told.
   */
  readonly patiently: <A, E>(effect: Effect.Effect<A, E | Unavailable>) => Effect.Effect<A, E | Unavailable>
  /** Asked once for each call of a tool that is there and has no result yet. */
  readonly permit: (call: ToolCall, tool: ToolDefinition) => Effect.Effect<Permission>
  readonly emit: (event: LoopEvent) => Effect.Effect<void>
}

/** The text of the last model answer, all text together, all that was said and done, and what it cost. */
export interface LoopResult {
  readonly answer: string
  readonly text: string
  readonly transcript: ReadonlyArray<PromptMessage>
  readonly usage: Usage
}

export type LoopError = ApprovalNeeded | InferenceError | LimitExceeded | OwnershipLost | Unavailable

/** The one agent loop, for chat turns and runs: ask the model, run its tools, until it only answers. */
export class AgentLoop extends Context.Service<
  AgentLoop,
  {
    /**
     * Works until the model answers without a tool call. Bounded in steps (model answers and tool
     * results), in time per model call and tool call, and in text. The calls of one answer run at the same
     * time, a bounded number of them; their results are told in the order of the calls. Each finished step
     * is kept in the journal before the next begins; steps that the journal holds already are not done
     * again. A call that is not allowed is told to the model as an error; one that nobody has decided about
     * ends the work with `ApprovalNeeded` when the others are done. What the model is shown is cut to a
     * budget of tokens.
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
        input: LoopInput & { readonly model: Effect.Effect<Model, InferenceError | Unavailable> },
        messages: ReadonlyArray<PromptMessage>,
        room: number
      ) {
        yield* input.emit({ type: "thinking" })
        const model = yield* input.model
        const answer = makeAnswer(messages)
        const tools = input.tools.map((tool) => tool.definition)
        const request = {
          system: input.request.system,
          messages: fitPrompt(messages, promptBudget(settings.historyTokens, tools)),
          tools
        }
        yield* model.stream(request).pipe(
          Stream.runForEach((event) => {
            const delta = answer.take(event)
            if (answer.length() > room) return Effect.fail(outputExceeded(settings.maxOutputLength))
            if (answer.calls() > settings.maxSteps) return Effect.fail(stepsExceeded(settings.maxSteps))
            return delta === "" ? Effect.void : input.emit({ type: "text", delta })
          }),
          Effect.timeoutOrElse({
            duration: settings.modelTimeoutMillis,
            orElse: () => Effect.fail(tooSlow("model_time", "the model", settings.modelTimeoutMillis))
          })
        )
        const rest = answer.rest()
        if (rest !== "") yield* input.emit({ type: "text", delta: rest })
        const { text, toolCalls, usage } = answer.result()
        if (usage === undefined) {
          return yield* new InferenceError({
            reason: "truncated",
            error: "the answer of the model was cut off"
          })
        }
        return { type: "model" as const, text, toolCalls, usage }
      })

      const run = Effect.fn("AgentLoop.run")(function* (given: LoopInput) {
        const tools = fitTools(given.tools, ({ definition }) => definition, settings.historyTokens)
        if (tools.length < given.tools.length) {
          yield* Effect.logWarning(`${given.tools.length - tools.length} tools too many were left out`)
        }
        // Which model is looked up with the first question, and is the same until the end.
        const input = {
          ...given,
          tools,
          model: yield* Effect.cached(given.patiently(inference.model(given.request.choice)))
        }
        const step = <S extends JournalStep, E, R>(
          index: number,
          type: S["type"],
          perform: Effect.Effect<S, E, R>
        ) =>
          Effect.gen(function* () {
            if (index >= settings.maxSteps) return yield* stepsExceeded(settings.maxSteps)
            const known = input.journal.finished.get(index)
            if (known !== undefined && known.type === type) return known as S
            const performed = yield* perform
            if (!(yield* input.journal.record(index, performed))) return yield* new OwnershipLost()
            return performed
          })

        const callTools = Effect.fnUntraced(function* (calls: ReadonlyArray<ToolCall>, first: number) {
          // All or none: a call that has begun is not cut off by the one that is too many.
          if (first + calls.length > settings.maxSteps) return yield* stepsExceeded(settings.maxSteps)
          for (const call of calls) yield* input.emit({ type: "tool_call", call })
          const results: Array<ToolResult | undefined> = calls.map(() => undefined)
          const telling = yield* Semaphore.make(1)
          let told = 0
          const tell = Effect.gen(function* () {
            for (let result = results[told]; result !== undefined; result = results[told]) {
              told++
              yield* input.emit({ type: "tool_result", result })
            }
          }).pipe(telling.withPermits(1))
          yield* Effect.forEach(
            calls,
            Effect.fnUntraced(function* (call, position) {
              const tool = input.tools.find((candidate) => candidate.definition.name === call.name)
              const isKnown = input.journal.finished.has(first + position)
              const permission =
                tool === undefined || isKnown ? allowed : yield* input.permit(call, tool.definition)
              if (permission.type === "undecided") return
              const key = `${input.key}/${call.id}`
              const performed: Extract<JournalStep, { type: "tool" }> = yield* step(
                first + position,
                "tool",
                input.patiently(
                  Effect.provideService(
                    callTool(tool, permission, call, settings.toolTimeoutMillis),
                    IdempotencyKey,
                    key
                  )
                )
              )
              results[position] = performed.result
              yield* tell
            }),
            { concurrency: settings.toolConcurrency, discard: true }
          ).pipe(
            Effect.tapErrorTag("LimitExceeded", ({ error }) =>
              Effect.andThen(
                Effect.sync(() => {
                  for (const [position, call] of calls.entries()) results[position] ??= brokenOff(call, error)
                }),
                tell
              )
            )
          )
          const done = results.filter((result) => result !== undefined)
          if (done.length === calls.length) return done
          return yield* new ApprovalNeeded({
            calls: calls.filter((_, position) => results[position] === undefined)
          })
        })

        const transcript: Array<PromptMessage> = []
        let index = 0
        let text = ""
        let usage = noUsage
        while (true) {
          const answer: Extract<JournalStep, { type: "model" }> = yield* step(
            index,
            "model",
            askModel(
              input,
              [...input.request.messages, ...transcript],
              settings.maxOutputLength - text.length
            )
          )
          index++
          text += answer.text
          usage = addUsage(usage, answer.usage)
          yield* input.emit({ type: "usage", usage })
          transcript.push({ role: "assistant", content: answer.text, toolCalls: answer.toolCalls })
          if (answer.toolCalls.length === 0) return { answer: answer.text, text, transcript, usage }

          transcript.push({ role: "tool", results: yield* callTools(answer.toolCalls, index) })
          index += answer.toolCalls.length
        }
      })

      return AgentLoop.of({ run })
    })
  )
}
