import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { fingerprintText, needsApproval } from "../Schemas/Approval.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ApprovalId } from "../Schemas/Ids.ts"
import { modelChoice } from "../Schemas/ModelChoice.ts"
import type { RunStatus, StoredRun } from "../Schemas/Run.ts"
import type { ToolCall, ToolDefinition } from "../Schemas/Tool.ts"
import { noUsage } from "../Schemas/Usage.ts"
import { AgentLoop, type LoopEvent, OwnershipLost } from "./AgentLoop.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { ApprovalRepo } from "./ApprovalRepo.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { RunJournal } from "./RunJournal.ts"
import { type Execution, type RunOutcome, RunRepo } from "./RunRepo.ts"
import { Settings } from "./Settings.ts"
import { ToolSource } from "./ToolSource.ts"

/** The work of a run, from its prompt to its stored end. */
export class RunWork extends Context.Service<
  RunWork,
  {
    /**
     * Executes a run that this worker owns (`isNew`: nobody has ever executed it), from where its journal ends, and stores how it went: over, or
     * waiting for people. A database that is away is asked again and again; whoever owns the lease must
     * interrupt this when it ends.
     */
    readonly execute: (run: StoredRun, isNew: boolean) => Effect.Effect<RunStatus, OwnershipLost>
  }
>()("agentd/Services/RunWork") {
  static readonly layer = Layer.effect(
    RunWork,
    Effect.gen(function* () {
      const agents = yield* AgentRepo
      const approvals = yield* ApprovalRepo
      const digest = yield* Digest.Digest
      const ids = yield* Ids
      const journals = yield* RunJournal
      const loop = yield* AgentLoop
      const repo = yield* RunRepo
      const { approvalMillis, worker } = yield* Settings
      const toolSource = yield* ToolSource

      const executionOf = ({ epoch, id }: StoredRun): Execution => ({ id, worker, epoch })
      const fingerprintOf = (call: ToolCall) =>
        digest.digestHex(Digest.sha256, new TextEncoder().encode(fingerprintText(call)))

      /** A call is allowed by its level of autonomy, or by the decision about exactly this call. */
      const permissions = Effect.fnUntraced(function* (run: StoredRun, hasJournal: boolean) {
        const asked = hasJournal ? yield* approvals.ofRun(run.id) : []
        return Effect.fnUntraced(function* (call: ToolCall, tool: ToolDefinition) {
          if (!needsApproval(run.autonomyLevel, tool)) return { type: "allowed" } as const
          const approval = asked.find(({ toolCallId }) => toolCallId === call.id)
          if (approval === undefined) return { type: "undecided" } as const
          const isSame = approval.fingerprint === (yield* fingerprintOf(call))
          return isSame && approval.status === "APPROVED"
            ? ({ type: "allowed" } as const)
            : ({
                type: "rejected",
                reason: isSame ? approval.reason : "its arguments are others now"
              } as const)
        })
      })

      /** Hands the run to people: until they have decided it holds no slot, fiber or connection. */
      const park = Effect.fn("RunWork.park")(function* (run: StoredRun, calls: ReadonlyArray<ToolCall>) {
        const createdAt = yield* now
        const expiresAt = new Date(createdAt.getTime() + approvalMillis)
        const asked = yield* Effect.forEach(calls, (call) =>
          Effect.gen(function* () {
            return {
              id: yield* ids.make<ApprovalId>("approval"),
              workspaceId: run.workspaceId,
              runId: run.id,
              toolCallId: call.id,
              tool: call.name,
              arguments: call.arguments,
              fingerprint: yield* fingerprintOf(call),
              status: "PENDING" as const,
              reason: null,
              decidedBy: null,
              decidedAt: null,
              createdAt,
              expiresAt
            }
          })
        )
        if (!(yield* whileOurs(approvals.park(executionOf(run), asked)))) return yield* new OwnershipLost()
      })

      const perform = Effect.fn("RunWork.perform")(function* (
        run: StoredRun,
        hasJournal: boolean,
        emit: (event: LoopEvent) => Effect.Effect<void>
      ) {
        const execution = executionOf(run)
        const agent = run.agentId === null ? null : Option.getOrNull(yield* agents.find(run.agentId))
        const result = yield* loop.run({
          request: {
            choice: modelChoice(run.workspaceId, agent, run),
            system: agent?.systemPrompt ?? null,
            messages: [{ role: "user", content: run.prompt }]
          },
          tools: yield* toolSource.tools(run),
          journal: {
            finished: hasJournal ? yield* journals.steps(run.id) : new Map(),
            record: (index, step) => whileOurs(journals.record(execution, index, step))
          },
          key: run.id,
          permit: yield* permissions(run, hasJournal),
          patiently: whileOurs,
          emit
        })
        return { status: "COMPLETED", output: result.answer, usage: result.usage } satisfies RunOutcome
      })

      const execute = Effect.fn("RunWork.execute")(function* (run: StoredRun, isNew: boolean) {
        let usage = noUsage
        let firstTokenAt: Date | null = null
        const failed = (error: string): RunOutcome => ({ status: "FAILED", error, usage })
        const emit = (event: LoopEvent) =>
          Effect.gen(function* () {
            if (event.type === "usage") usage = event.usage
            if (event.type === "text" && firstTokenAt === null) firstTokenAt = yield* now
          })
        let hasJournal = !isNew
        const performed = Effect.suspend(() => {
          const again = hasJournal
          hasJournal = true
          return perform(run, again, emit)
        })
        const outcome = yield* whileOurs(performed).pipe(
          Effect.catchTags({
            ApprovalNeeded: ({ calls }) => Effect.as(park(run, calls), undefined),
            InferenceError: ({ error, reason }) =>
              Effect.as(Effect.logWarning("a model gave no answer", { reason, error }), failed(error)),
            LimitExceeded: ({ error }) => Effect.succeed(failed(error))
          }),
          Effect.catchDefect((defect) =>
            Effect.as(Effect.logError("a run failed", Cause.die(defect)), failed("internal error"))
          )
        )
        if (outcome === undefined) return "WAITING_APPROVAL" as const
        const at = yield* now
        const end = (how: RunOutcome) =>
          Effect.map(
            whileOurs(repo.finish(executionOf(run), how, { at, firstTokenAt })),
            (kept) => kept && how.status
          )
        const ended = yield* Effect.catchDefect(end(outcome), (defect) =>
          // What can't be stored must not be tried for ever.
          Effect.andThen(
            Effect.logError("the end of a run can't be stored", Cause.die(defect)),
            end({ status: "FAILED", error: "internal error", usage })
          )
        )
        return ended === false ? yield* new OwnershipLost() : ended
      })

      return RunWork.of({ execute })
    })
  ).pipe(Layer.provide(Digest.layerWebCrypto))
}

/** Again and again, until it can be done or the caller is interrupted: which it is when its lease ends. */
const whileOurs = <A, E>(effect: Effect.Effect<A, E | Unavailable>) =>
  Effect.retry(effect, {
    while: (error: E | Unavailable) =>
      typeof error === "object" && error !== null && "_tag" in error && error._tag === "Unavailable",
    schedule: Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])
  }) as Effect.Effect<A, Exclude<E, Unavailable>>
