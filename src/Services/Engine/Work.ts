import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { closeCalls } from "../../Schemas/ClosedCalls.ts"
import { toPrompt } from "../../Schemas/Conversation.ts"
import { OwnershipLost } from "../../Schemas/Execution.ts"
import { workedTooLong } from "../../Schemas/Limits.ts"
import { modelChoice } from "../../Schemas/ModelChoice.ts"
import { boundOf } from "../../Schemas/Policy.ts"
import { joinSystem } from "../../Schemas/Prompt.ts"
import type { RunStatus, StoredRun } from "../../Schemas/Run.ts"
import { plainInput, type TurnInput } from "../../Schemas/TurnInput.ts"
import { AgentRepo } from "../AgentRepo.ts"
import { actingAs } from "../Audited.ts"
import { BudgetRepo } from "../BudgetRepo.ts"
import { ConversationRepo } from "../ConversationRepo.ts"
import { type Progress, RunJournal } from "../RunJournal.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import { quoting } from "../Telemetry.ts"
import { ToolSource } from "../ToolSource.ts"
import { AgentLoop, type LoopResult } from "./AgentLoop.ts"
import { BudgetNews } from "./BudgetNews.ts"
import * as CallBudget from "./CallBudget.ts"
import { untilDraining } from "./Draining.ts"
import * as ExecutionLog from "./ExecutionLog.ts"
import * as Finish from "./Finish.ts"
import type { EventListener } from "./LiveEvents.ts"
import * as Park from "./Park.ts"
import { patiently } from "./Patience.ts"
import * as Permissions from "./Permissions.ts"
import * as Spans from "./Spans.ts"
import { accessOf } from "./Toolbox.ts"

/** The work of a run, from its prompt to its stored end: it is performed, then parked or finished. */
export class Work extends Context.Service<
  Work,
  {
    /**
     * Executes a run that this worker owns, from where its journal ends, and stores how it went: over, or
     * waiting for people; or nothing, and it is still RUNNING, because no further step begins here when the process
     * stops: then whoever owns it hands it back. Its events go to the listener as they happen. A database that is away is asked
     * again and again; whoever owns the lease must interrupt this when it ends.
     */
    readonly execute: (run: StoredRun, listener?: EventListener) => Effect.Effect<RunStatus, OwnershipLost>
  }
>()("agentd/Services/Engine/Work") {
  static readonly layer = Layer.effect(
    Work,
    Effect.gen(function* () {
      const openLog = yield* ExecutionLog.make
      const perform = yield* makePerform
      const park = yield* Park.make
      const finish = yield* Finish.make

      const execute = Effect.fnUntraced(function* (run: StoredRun, listener?: EventListener) {
        const log = yield* openLog(run, listener)
        const ending = yield* perform(run, log).pipe(
          Effect.flatMap((result) => answered(run, result, log)),
          Effect.raceFirst(log.flushing),
          Effect.catchTags({
            ApprovalNeeded: ({ calls }) => Effect.as(park(run, calls, log), parked),
            BudgetExceeded: ({ error }) => Effect.succeed(Finish.failed(log, "budget_exceeded", error)),
            InferenceError: ({ error, reason }) =>
              Effect.as(
                Effect.annotateLogs(quoting(Effect.logWarning("a model gave no answer")), { reason, error }),
                Finish.failed(log, `inference_${reason}`, error)
              ),
            LimitExceeded: ({ error, limit }) =>
              Effect.succeed(Finish.failed(log, `${limit}_exceeded`, error)),
            InvalidOutput: ({ error }) => Effect.succeed(Finish.failed(log, "invalid_output", error)),
            HandedBack: () => Effect.succeed(brokenOff),
            ToolUnavailable: ({ error }) => Effect.succeed(Finish.failed(log, "tool_unavailable", error))
          }),
          Effect.catchDefect((defect) =>
            Effect.as(
              Effect.logError("a run failed", Cause.die(defect)),
              Finish.failed(log, "internal_error", "internal error")
            )
          )
        )
        yield* Spans.executed(ending, log.usage)
        return ending === parked || ending === brokenOff ? ending : yield* finish(run, ending, log)
      })

      return Work.of({
        execute: (run, listener) =>
          execute(run, listener).pipe(Spans.execution(run), actingAs({ system: run.id }))
      })
    })
  )
}

const parked = "WAITING_APPROVAL" as const
const brokenOff = "RUNNING" as const

/** An answer that is not whole is none, but it is kept as far as it came. */
const answered = Effect.fnUntraced(function* (
  { turn }: StoredRun,
  { answer, text, transcript, truncated }: LoopResult,
  log: ExecutionLog.ExecutionLog
) {
  const output = turn === null ? answer : text
  if (truncated === undefined) {
    return { status: "COMPLETED", output, usage: log.usage(), transcript } satisfies Finish.Ending
  }
  yield* Effect.annotateLogs(Effect.logWarning("the answer of a model is not whole"), { error: truncated })
  return {
    ...Finish.failed(log, "inference_truncated", truncated),
    ...(output !== "" && { output, transcript })
  } satisfies Finish.Ending
})

const nothingDone: Progress = { steps: new Map(), workedMillis: 0 }

/**
 * Looks up what the run needs, and lets the agent loop go on behind its last finished step, for as long as it may be
 * worked on.
 */
const makePerform = Effect.gen(function* () {
  const agents = yield* AgentRepo
  const news = yield* BudgetNews
  const repo = yield* BudgetRepo
  const conversations = yield* ConversationRepo
  const journals = yield* RunJournal
  const loop = yield* AgentLoop
  const permissions = yield* Permissions.make
  const runs = yield* RunRepo
  const { historyTokens, runMaxMillis } = yield* Settings
  const toolSource = yield* ToolSource

  const inputOf = Effect.fnUntraced(function* ({ id, input }: StoredRun) {
    if (input !== "unread") return input ?? plainInput
    const read = yield* untilDraining(patiently(runs.input(id)))
    // Else its conversation was deleted.
    return Option.isSome(read) ? read.value : yield* new OwnershipLost()
  })

  const messagesOf = Effect.fnUntraced(function* ({ prompt, turn }: StoredRun, input: TurnInput) {
    if (turn === null) return [{ role: "user" as const, content: prompt }]
    if (input.messages !== null) return closeCalls(input.messages)
    const history = yield* conversations.history(turn.conversationId, historyTokens * 4)
    return closeCalls(history.flatMap(toPrompt))
  })

  const lookUp = Effect.fnUntraced(function* (run: StoredRun, input: TurnInput) {
    const agent = run.agentId === null ? null : Option.getOrNull(yield* agents.find(run.agentId))
    yield* Spans.agentFound(agent)
    return {
      request: {
        choice: modelChoice(run.workspaceId, agent, run),
        system: joinSystem(agent?.systemPrompt ?? null, input.instructions),
        messages: yield* messagesOf(run, input)
      },
      permit: yield* permissions.permitOf(run, !ExecutionLog.isFirst(run))
    }
  })

  return Effect.fnUntraced(function* (run: StoredRun, log: ExecutionLog.ExecutionLog) {
    const progress = ExecutionLog.isFirst(run)
      ? nothingDone
      : yield* untilDraining(patiently(journals.progress(run.id)))
    yield* log.resume(progress.steps, progress.workedMillis)
    const input = yield* inputOf(run)
    const answer = Effect.flatMap(untilDraining(patiently(lookUp(run, input))), (found) =>
      loop.answer({
        ...found,
        access: accessOf(toolSource, run),
        given: { ...input, owner: run.workspaceId },
        maxSteps: run.policy?.maxSteps ?? null,
        finished: progress.steps,
        log,
        key: run.id,
        messageId: run.turn?.replyId ?? null
      })
    )
    const { workspaceId } = run
    const budget = CallBudget.make({ news, repo, execution: log.execution, workspaceId })
    const maxSeconds = run.policy?.maxSeconds ?? null
    const most = boundOf(runMaxMillis, maxSeconds === null ? null : maxSeconds * 1000)
    return yield* Effect.timeoutOrElse(Effect.provideService(answer, CallBudget.CallBudget, budget), {
      duration: Math.max(0, most - (yield* log.workedMillis)),
      orElse: () => workedTooLong(most)
    })
  })
})
