import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { BudgetExceeded } from "../../Schemas/Budget.ts"
import type { ApprovalNeeded, HandedBack, OwnershipLost } from "../../Schemas/Execution.ts"
import {
  againBecause,
  formatted,
  type InvalidOutput,
  invalidOutput,
  piecesOf
} from "../../Schemas/FormattedAnswer.ts"
import { givenOf } from "../../Schemas/GivenTool.ts"
import type { MessageId } from "../../Schemas/Ids.ts"
import { InferenceError, type InferenceRequest, type PromptMessage } from "../../Schemas/Inference.ts"
import { firstAnswerOf, type JournalStep } from "../../Schemas/Journal.ts"
import type { LimitExceeded } from "../../Schemas/Limits.ts"
import type { ModelChoice } from "../../Schemas/ModelChoice.ts"
import { boundOf } from "../../Schemas/Policy.ts"
import { fitTools, joinSystem } from "../../Schemas/Prompt.ts"
import { responding, thinking, thinkingWithout, toolCalled } from "../../Schemas/RunEvent.ts"
import type { ToolDefinition } from "../../Schemas/Tool.ts"
import { absenceNote, type ToolUnavailable } from "../../Schemas/ToolAbsence.ts"
import { bound, unbound } from "../../Schemas/ToolBinding.ts"
import { isOfCaller, nextChoice, type TurnInput } from "../../Schemas/TurnInput.ts"
import { DatabaseHealth } from "../DatabaseHealth.ts"
import { Inference } from "../Inference.ts"
import { Settings, type SettingsShape } from "../Settings.ts"
import type { Tool } from "../ToolSource.ts"
import { askModel } from "./AskModel.ts"
import { CallBudget } from "./CallBudget.ts"
import { type Calling, callTools } from "./CallTools.ts"
import { untilDraining } from "./Draining.ts"
import * as FormatCheck from "./FormatCheck.ts"
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
  /** What is asked of its answers beside the conversation. */
  readonly given: Asked
  /** Of the reply of a chat turn, which its events name. */
  readonly messageId: MessageId | null
}

/** What of the input of a turn the loop itself keeps to; whose it is. */
export interface Asked extends Pick<TurnInput, "format" | "sampling" | "toolChoice" | "tools"> {
  readonly owner: string
}

/**
 * The text of the last model answer, all text that was told together, and all that was said and done. With a format
 * both texts are its JSON alone. Calls of the transcript without results are the caller's.
 */
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
  | InvalidOutput
  | LimitExceeded
  | OwnershipLost
  | ToolUnavailable

/** The one agent loop, for chat turns and runs: ask the model, run its tools, until it only answers. */
export class AgentLoop extends Context.Service<
  AgentLoop,
  {
    /**
     * Works until the model answers without a tool call, or calls a tool of the caller, or its answer is cut off. Tools
     * of the caller are not called here: the agent's own calls of that answer are done first, then those are told, and
     * no policy is asked about them. With a format nothing of an answer is told before it is checked; one that does not
     * fit is asked for once again with the reason, then it ends with `InvalidOutput`. Bounded in steps (model answers and tool
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
      const settings = yield* Settings
      const awaitTool = yield* ToolWait.make

      const makeAsk = yield* makeQuestions

      const answer = Effect.fnUntraced(function* (input: LoopInput) {
        const { finished, given, log } = input
        yield* haveRoom(given.tools, settings.historyTokens)
        const budget = yield* CallBudget
        const begun = firstAnswerOf(finished)
        const toolbox = yield* Toolbox.make(input.access, awaitTool, {
          budget: settings.historyTokens,
          given: begun?.type === "model" ? (begun.given ?? []) : [],
          own: given.tools
        })
        const bounds = { ...settings, maxSteps: boundOf(settings.maxSteps, input.maxSteps) }
        const steps: Steps = { finished, log, most: bounds.maxSteps }
        const ask = yield* makeAsk(input, toolbox, bounds)
        const transcript: Array<PromptMessage> = []
        /** Of the transcript what is of no use to anybody later. */
        const aside = new Set<PromptMessage>()
        let index = 0
        let text = ""
        while (true) {
          const said: Answered = yield* step(
            steps,
            index,
            "model",
            ask({ transcript, text, isFirst: index === 0, isLast: aside.size > 0 })
          )
          yield* budget.booked(said)
          index++
          text += said.text
          const { reasoning, toolCalls, truncated, unfit } = said
          const message: PromptMessage = {
            role: "assistant",
            content: said.text,
            toolCalls: toolCalls.map(unbound),
            ...(reasoning !== undefined && { reasoning })
          }
          transcript.push(message)
          if (unfit !== undefined) {
            if (unfit.isFinal) return yield* invalidOutput(unfit.error)
            const again = againBecause(unfit.error)
            aside.add(message).add(again)
            transcript.push(again)
            continue
          }

          const left = toolCalls.filter(({ name }) => isOfCaller(given, name))
          const calls = toolCalls.filter((call) => !left.includes(call))
          if (calls.length > 0) {
            const calling = { ...input, awaitTool, toolbox }
            const results = yield* callTools(calls, index, steps, calling, settings, health)
            transcript.push({ role: "tool", results })
            index += calls.length
          }
          if (calls.length === 0 || left.length > 0) {
            for (const call of left) yield* log.emit(toolCalled(call))
            const texts = given.format === null ? { answer: said.text, text } : both(formatted(said))
            return { ...texts, transcript: transcript.filter((one) => !aside.has(one)), truncated }
          }
        }
      })

      return AgentLoop.of({ answer })
    })
  )
}

type Answered = Extract<JournalStep, { type: "model" }>

/** Where the loop stands when it asks. */
interface Standing {
  readonly transcript: ReadonlyArray<PromptMessage>
  /** All that was said before. */
  readonly text: string
  /** It is the first step. */
  readonly isFirst: boolean
  /** An answer did not fit its format before. */
  readonly isLast: boolean
}

/** How one execution asks its model: the same one until its end, which is looked up with the first question. */
const makeQuestions = Effect.gen(function* () {
  const inference = yield* Inference
  const settings = yield* Settings
  const checkFormat = yield* FormatCheck.make

  return Effect.fnUntraced(function* (
    { given, log, messageId, request }: LoopInput,
    toolbox: Toolbox.Toolbox,
    bounds: SettingsShape
  ) {
    const model = yield* Effect.cached(untilDraining(patiently(inference.model(request.choice))))
    let isBeginning = true
    return Effect.fnUntraced(function* ({ isFirst, isLast, text, transcript }: Standing) {
      const { absent, definitions, tools } = yield* toolbox.shown
      const hasCalled = transcript.some(({ role }) => role === "tool")
      const question = {
        model,
        request: {
          system: joinSystem(request.system, absenceNote(absent)),
          messages: [...request.messages, ...transcript],
          tools: definitions,
          ...wanted(given, hasCalled)
        },
        room: settings.maxOutputLength - text.length,
        thinking: isBeginning ? thinkingWithout(absent) : thinking,
        messageId,
        isHeld: given.format !== null,
        emit: log.emit
      }
      const isOfExecution = isBeginning
      isBeginning = false
      const answer = kept(yield* askModel(question, bounds), tools, { isBeginning: isOfExecution, isFirst })
      if (given.format === null) return answer
      const checked = yield* checkFormat(given.owner, given.format, answer, isLast)
      for (const piece of piecesOf(formatted(checked))) yield* log.emit(responding(messageId, piece))
      return checked
    })
  })
})

/** What a request says of what is asked; nothing where nothing is. */
const wanted = (
  { format, sampling, ...given }: Asked,
  hasCalled: boolean
): Pick<InferenceRequest, "format" | "sampling" | "toolChoice"> => {
  const toolChoice = nextChoice(given, hasCalled)
  return {
    ...(toolChoice !== "auto" && { toolChoice }),
    ...(format !== null && { format }),
    ...(Object.keys(sampling).length > 0 && { sampling })
  }
}

/** A caller's tools are all shown, or none is asked: what it has sent is not left out behind its back. */
const haveRoom = (tools: ReadonlyArray<ToolDefinition>, budget: number) =>
  fitTools(tools, (tool) => tool, budget).length === tools.length
    ? Effect.void
    : new InferenceError({ reason: "context_length", error: "tools: are too many, or too long, for a model" })

const both = (text: string) => ({ answer: text, text })

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
