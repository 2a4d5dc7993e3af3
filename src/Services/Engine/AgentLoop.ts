import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { BudgetExceeded } from "../../Schemas/Budget.ts"
import type { ApprovalNeeded, HandedBack, OwnershipLost } from "../../Schemas/Execution.ts"
import { givenOf } from "../../Schemas/GivenTool.ts"
import type { MessageId } from "../../Schemas/Ids.ts"
import type { InferenceError, PromptMessage } from "../../Schemas/Inference.ts"
import { firstAnswerOf, type JournalStep } from "../../Schemas/Journal.ts"
import type { LimitExceeded } from "../../Schemas/Limits.ts"
import type { ModelChoice } from "../../Schemas/ModelChoice.ts"
import { boundOf } from "../../Schemas/Policy.ts"
import { thinking, thinkingWithout } from "../../Schemas/RunEvent.ts"
import { absenceNote, type ToolUnavailable } from "../../Schemas/ToolAbsence.ts"
import { bound, unbound } from "../../Schemas/ToolBinding.ts"
import { DatabaseHealth } from "../DatabaseHealth.ts"
import { Inference } from "../Inference.ts"
import { Settings } from "../Settings.ts"
import type { Tool } from "../ToolSource.ts"
import { askModel } from "./AskModel.ts"
import { CallBudget } from "./CallBudget.ts"
import { type Calling, callTools } from "./CallTools.ts"
import { untilDraining } from "./Draining.ts"
import { patiently } from "./Patience.ts"
import { type Steps, step } from "./Step.ts"
import type { ToolAccess } from "./Toolbox.ts"
import * as Toolbox from "./Toolbox.ts"
import * as ToolWait from "./ToolWait.ts"

export interface LoopInput extends Calling, Omit<Steps, "most"> {
  readonly access: ToolAccess
  /** Null: as many as the service allows at most. */
  readonly maxSteps: number | null
  readonly request: {
    readonly choice: ModelChoice
    readonly system: string | null
    readonly messages: ReadonlyArray<PromptMessage>
  }
  /** Of the reply of a chat turn, which its events name. */
  readonly messageId: MessageId | null
}

/** The text of the last model answer, all text together, and all that was said and done. */
export interface LoopResult {
  readonly answer: string
  readonly text: string
  readonly transcript: ReadonlyArray<PromptMessage>
  /** Why the last answer is not whole. */
  readonly truncated?: string | undefined
}

type LoopError =
  | ApprovalNeeded
  | BudgetExceeded
  | HandedBack
  | InferenceError
  | LimitExceeded
  | OwnershipLost
  | ToolUnavailable

/** The one agent loop, for chat turns and runs: ask the model, run its tools, until it only answers. */
export class AgentLoop extends Context.Service<
  AgentLoop,
  {
    /**
     * Works until the model answers without a tool call, or its answer is cut off. Bounded in steps (model answers and tool
     * results), in time per model call and tool call, and in text. The calls of one answer run at the same
     * time, a bounded number of them; their results are told in the order of the calls. Each finished step
     * is kept in the log before the next begins; steps that finished before are not done
     * again. A call that is not allowed is told to the model as an error; one that nobody has decided about
     * ends the work with `ApprovalNeeded` when the others are done. What the model is shown is cut to a
     * budget of tokens. Which tools it is shown is looked up with the first question, and a call goes to the
     * tool that was shown or to none (`Toolbox`). A store that is away in the middle of a step is waited for
     * within it, so that the steps beside it go on. When the process stops no further step begins: what is under
     * way is kept, and then the work ends with `HandedBack`.
     */
    readonly answer: (input: LoopInput) => Effect.Effect<LoopResult, LoopError>
  }
>()("agentd/Services/Engine/AgentLoop") {
  static readonly layer = Layer.effect(
    AgentLoop,
    Effect.gen(function* () {
      const health = yield* DatabaseHealth
      const inference = yield* Inference
      const settings = yield* Settings
      const awaitTool = yield* ToolWait.make

      const answer = Effect.fnUntraced(function* (input: LoopInput) {
        const { finished, log, messageId, request } = input
        const budget = yield* CallBudget
        const begun = firstAnswerOf(finished)
        const toolbox = yield* Toolbox.make(input.access, awaitTool, {
          budget: settings.historyTokens,
          given: begun?.type === "model" ? (begun.given ?? []) : []
        })
        const bounds = { ...settings, maxSteps: boundOf(settings.maxSteps, input.maxSteps) }
        const steps: Steps = { finished, log, most: bounds.maxSteps }
        // Which model is looked up with the first question, and is the same until the end.
        const model = yield* Effect.cached(untilDraining(patiently(inference.model(request.choice))))
        const transcript: Array<PromptMessage> = []
        let index = 0
        let text = ""
        let isFirst = true
        const ask = Effect.gen(function* () {
          const { absent, tools } = yield* toolbox.shown
          const question = {
            model,
            request: {
              system: joined(request.system, absenceNote(absent)),
              messages: [...request.messages, ...transcript],
              tools: tools.map(({ definition }) => definition)
            },
            room: settings.maxOutputLength - text.length,
            thinking: isFirst ? thinkingWithout(absent) : thinking,
            messageId,
            emit: log.emit
          }
          const isBeginning = isFirst
          isFirst = false
          const answer = yield* askModel(question, bounds)
          return kept(answer, tools, { isBeginning, isFirst: index === 0 })
        })
        while (true) {
          const said: Extract<JournalStep, { type: "model" }> = yield* step(steps, index, "model", ask)
          yield* budget.booked(said)
          index++
          text += said.text
          const { reasoning, text: content, toolCalls, truncated } = said
          transcript.push({
            role: "assistant",
            content,
            toolCalls: toolCalls.map(unbound),
            ...(reasoning !== undefined && { reasoning })
          })
          if (toolCalls.length === 0) return { answer: content, text, transcript, truncated }

          const results = yield* callTools(
            toolCalls,
            index,
            steps,
            { ...input, awaitTool, toolbox },
            settings,
            health
          )
          transcript.push({ role: "tool", results })
          index += toolCalls.length
        }
      })

      return AgentLoop.of({ answer })
    })
  )
}

/** An answer as it is journaled: bound to what the model was shown, with what it can't be gone on without later. */
const kept = (
  { answeredBy, step }: Effect.Success<ReturnType<typeof askModel>>,
  tools: ReadonlyArray<Tool>,
  { isBeginning, isFirst }: { readonly isBeginning: boolean; readonly isFirst: boolean }
) => {
  const given = isFirst ? givenOf(tools) : []
  return {
    ...step,
    toolCalls: bound(step.toolCalls, tools),
    ...(given.length > 0 && { given }),
    ...(isBeginning && { answeredBy })
  }
}

const joined = (system: string | null, note: string | null): string | null =>
  system === null || note === null ? (system ?? note) : `${system}\n\n${note}`
