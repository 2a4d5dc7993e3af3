import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { toPrompt } from "../Schemas/Conversation.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import { modelChoice } from "../Schemas/ModelChoice.ts"
import { cutResults } from "../Schemas/Prompt.ts"
import type { RunStatus, StoredRun } from "../Schemas/Run.ts"
import { type EventBatch, emptyLog, endOf, logged, resumed } from "../Schemas/RunEvent.ts"
import type { ToolCall } from "../Schemas/Tool.ts"
import { noUsage } from "../Schemas/Usage.ts"
import { AgentLoop, type LoopEvent, type LoopResult, OwnershipLost } from "./AgentLoop.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { ApprovalRepo } from "./ApprovalRepo.ts"
import { ConversationRepo } from "./ConversationRepo.ts"
import { now } from "./CurrentTime.ts"
import * as EventLog from "./EventLog.ts"
import type { EventListener } from "./LiveEvents.ts"
import * as RunApprovals from "./RunApprovals.ts"
import { RunEventRepo } from "./RunEventRepo.ts"
import { RunJournal } from "./RunJournal.ts"
import { type Execution, type RunOutcome, RunRepo } from "./RunRepo.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import { ToolSource } from "./ToolSource.ts"
import { Transaction } from "./Transaction.ts"

/** How an execution ended; a turn's reply is stored with the trace of how it came about. */
type Ending = RunOutcome & { readonly transcript?: LoopResult["transcript"] }

const batchesAtOnce = 100
const watchMillis = 5_000
/** Of more runs, the one is forgotten that was heard of least lately: its readers look by themselves. */
const mostWatched = 1_000

/** The work of a run, from its prompt to its stored end. */
export class RunWork extends Context.Service<
  RunWork,
  {
    /**
     * Executes a run that this worker owns, from where its journal ends, and stores how it went: over, or
     * waiting for people. Its events go to the listener as they happen. A database that is away is asked
     * again and again; whoever owns the lease must interrupt this when it ends.
     */
    readonly execute: (run: StoredRun, listener?: EventListener) => Effect.Effect<RunStatus, OwnershipLost>
    /** Somebody reads the events of this run: for 5 s, a signal tells whenever more of them are kept. */
    readonly watch: (id: RunId) => Effect.Effect<void>
  }
>()("agentd/Services/RunWork") {
  static readonly layer = Layer.effect(
    RunWork,
    Effect.gen(function* () {
      const agents = yield* AgentRepo
      const approvals = yield* ApprovalRepo
      const asking = yield* RunApprovals.make
      const conversations = yield* ConversationRepo
      const events = yield* RunEventRepo
      const journals = yield* RunJournal
      const loop = yield* AgentLoop
      const repo = yield* RunRepo
      const { historyTokens, worker } = yield* Settings
      const signals = yield* Signals
      const toolSource = yield* ToolSource
      const transaction = yield* Transaction
      const watchers = new Map<RunId, number>()

      const executionOf = ({ epoch, id }: StoredRun): Execution => ({ id, worker, epoch })

      /** What the run told before, in this execution's terms. */
      const toldBefore = Effect.fnUntraced(function* (run: StoredRun) {
        if (isFirst(run)) return run.turn === null ? emptyLog : { ...emptyLog, lastId: 1 }
        let state = emptyLog
        while (true) {
          const more = yield* whileOurs(events.read(run.id, state.lastId, batchesAtOnce))
          if (more.length === 0) return resumed(state, run.epoch)
          for (const event of more) state = logged(state, event)
        }
      })

      const messagesOf = Effect.fnUntraced(function* ({ prompt, turn }: StoredRun) {
        if (turn === null) return [{ role: "user" as const, content: prompt }]
        return (yield* conversations.history(turn.conversationId, historyTokens * 4)).flatMap(toPrompt)
      })

      const perform = Effect.fn("RunWork.perform")(function* (
        run: StoredRun,
        hasJournal: boolean,
        log: EventLog.EventLog,
        emit: (event: LoopEvent) => Effect.Effect<void>
      ) {
        const execution = executionOf(run)
        const agent = run.agentId === null ? null : Option.getOrNull(yield* agents.find(run.agentId))
        const finished = hasJournal ? yield* journals.steps(run.id) : new Map()
        if (hasJournal) {
          const answers = Array.from(finished.values()).filter(({ type }) => type === "model").length
          const isOurs = yield* log.restart(answers, (from, to) => events.truncate(execution, from, to))
          if (!isOurs) return yield* new OwnershipLost()
        }
        return yield* loop.run({
          request: {
            choice: modelChoice(run.workspaceId, agent, run),
            system: agent?.systemPrompt ?? null,
            messages: yield* messagesOf(run)
          },
          tools: yield* toolSource.tools(run),
          journal: {
            finished,
            record: (index, step) =>
              log.write((batches) => whileOurs(journals.record(execution, index, step, batches)))
          },
          key: run.id,
          permit: yield* asking.permissions(run, hasJournal),
          patiently: whileOurs,
          emit
        })
      })

      /** Hands the run to people: until they have decided it holds no slot, fiber or connection. */
      const park = Effect.fn("RunWork.park")(function* (
        run: StoredRun,
        calls: ReadonlyArray<ToolCall>,
        firstTokenAt: Date | null,
        log: EventLog.EventLog
      ) {
        const asked = yield* asking.questions(run, calls)
        const parked = yield* log.write(
          (batches) => whileOurs(approvals.park(executionOf(run), asked, batches, firstTokenAt)),
          asked.map(({ id, toolCallId }) => ({
            event: "status",
            data: { status: "waiting_approval", approvalId: id, toolCallId }
          }))
        )
        if (!parked) return yield* new OwnershipLost()
      })

      /** A turn's reply is stored in the transaction that ends it. */
      const finish = (
        run: StoredRun,
        ending: Ending,
        times: { readonly at: Date; readonly firstTokenAt: Date | null },
        batches: ReadonlyArray<EventBatch>
      ) => {
        const finished = repo.finish(executionOf(run), ending, times, batches)
        const { turn } = run
        if (turn === null || ending.status !== "COMPLETED") return finished
        const reply = {
          id: turn.replyId,
          role: "ASSISTANT",
          content: ending.output,
          createdAt: times.at
        } as const
        const parts = (ending.transcript ?? []).map((part) => cutResults(part, historyTokens))
        const { usage } = ending
        return transaction.run(
          Effect.tap(finished, (isOurs) =>
            isOurs ? conversations.addReply(turn.conversationId, reply, { parts, usage }) : Effect.void
          )
        )
      }

      const execute = Effect.fn("RunWork.execute")(function* (run: StoredRun, listener?: EventListener) {
        let firstTokenAt: Date | null = null
        const isRead = Effect.map(Clock.currentTimeMillis, (at) => (watchers.get(run.id) ?? 0) > at)
        const log = yield* EventLog.make({
          state: yield* Effect.catchDefect(toldBefore(run), (defect) =>
            // Events that can't be read hold up no run.
            Effect.as(
              Effect.logError("events can't be read", Cause.die(defect)),
              resumed(emptyLog, run.epoch)
            )
          ),
          append: (batches) => events.append(executionOf(run), batches, firstTokenAt),
          listen: listener?.offer ?? (() => Effect.void),
          isRead,
          kept: Effect.flatMap(isRead, (is) =>
            is ? signals.publish({ type: "events", id: run.id }) : Effect.void
          )
        })
        let usage = noUsage
        const failed = (code: string, error: string): Ending => ({ status: "FAILED", code, error, usage })
        const emit = (event: LoopEvent) =>
          Effect.gen(function* () {
            if (event.type === "usage") usage = event.usage
            if (event.type === "text" && firstTokenAt === null) firstTokenAt = yield* now
            const told = EventLog.toRunEvent(run, event)
            if (told !== undefined) yield* log.emit(told)
          })
        let hasJournal = !isFirst(run)
        const performed = Effect.suspend(() => {
          const again = hasJournal
          hasJournal = true
          return perform(run, again, log, emit)
        })
        const ending = yield* whileOurs(performed).pipe(
          Effect.map(({ answer, text, transcript, usage }): Ending => {
            const output = run.turn === null ? answer : text
            return { status: "COMPLETED", output, usage, transcript }
          }),
          Effect.raceFirst(log.flushing),
          Effect.catchTags({
            ApprovalNeeded: ({ calls }) => Effect.as(park(run, calls, firstTokenAt, log), undefined),
            InferenceError: ({ error, reason }) =>
              Effect.as(
                Effect.logWarning("a model gave no answer", { reason, error }),
                failed(`inference_${reason}`, error)
              ),
            LimitExceeded: ({ error, limit }) => Effect.succeed(failed(`${limit}_exceeded`, error))
          }),
          Effect.catchDefect((defect) =>
            Effect.as(
              Effect.logError("a run failed", Cause.die(defect)),
              failed("internal_error", "internal error")
            )
          )
        )
        if (ending === undefined) return "WAITING_APPROVAL" as const
        const at = yield* now
        const end = (how: Ending) =>
          Effect.flatMap(
            log.write((batches) => whileOurs(finish(run, how, { at, firstTokenAt }, batches))),
            (isOurs) => (isOurs ? Effect.succeed(how) : new OwnershipLost())
          )
        const how = yield* Effect.catchDefect(end(ending), (defect) =>
          // What can't be stored must not be tried for ever.
          Effect.logError("the end of a run can't be stored", Cause.die(defect)).pipe(
            Effect.andThen(log.discard),
            Effect.andThen(end(failed("internal_error", "internal error")))
          )
        )
        const over = {
          output: null,
          error: null,
          ...how,
          errorCode: how.status === "FAILED" ? how.code : null
        }
        const last = endOf({ ...run, ...over, finishedAt: at })
        if (last !== undefined) yield* log.tellEnd(last)
        return how.status
      })

      return RunWork.of({
        execute,
        watch: (id) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            watchers.delete(id)
            watchers.set(id, at + watchMillis)
            const [oldest] = watchers.keys()
            if (watchers.size > mostWatched && oldest !== undefined) watchers.delete(oldest)
          })
      })
    })
  )
}

/** Whether nobody has executed it before, so that there is nothing to look up. */
const isFirst = ({ attempts, epoch }: StoredRun): boolean => attempts === 1 && epoch === 1

/** Again and again, until it can be done or the caller is interrupted: which it is when its lease ends. */
const whileOurs = <A, E>(effect: Effect.Effect<A, E | Unavailable>) =>
  Effect.retry(effect, {
    while: (error: E | Unavailable) =>
      typeof error === "object" && error !== null && "_tag" in error && error._tag === "Unavailable",
    schedule: Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])
  }) as Effect.Effect<A, Exclude<E, Unavailable>>
