import * as Schema from "effect/Schema"
import type { AnsweringModel } from "./AnsweringModel.ts"
import { ApprovalStatus, type StoredApproval } from "./Approval.ts"
import { ApprovalId, RunId, UserId } from "./Ids.ts"
import { toUsd } from "./Pricing.ts"
import { RunStatus, type StoredRun } from "./Run.ts"
import type { KeptExecution, TimedStep } from "./RunTimes.ts"
import { Timestamp } from "./Timestamp.ts"

/**
 * Why an execution began: the run was made, an approval was decided, somebody retried it, a node that stopped handed it
 * back, or the node that had it was lost. Null: it is not known any more.
 */
export const ExecutionCause = Schema.Literals(["start", "approval", "retry", "handed_back", "takeover"])
export type ExecutionCause = typeof ExecutionCause.Type

/** Of a span that is not over, `endedAt` is null. */
const lasting = { startedAt: Timestamp, endedAt: Schema.NullOr(Timestamp) }

/** It waited for a place on a node, before the execution of this epoch. */
const QueuedSpan = Schema.Struct({
  type: Schema.Literal("queued"),
  ...lasting,
  epoch: Schema.Int,
  cause: ExecutionCause
})

/** No node had it: from when the lease of the lost one ended, or it was known to be dead, until another took it over. */
const TakeoverSpan = Schema.Struct({ type: Schema.Literal("takeover"), ...lasting, epoch: Schema.Int })

/**
 * An answer of the model, with the time since the step before it: `startedAt` is null where that is not known. `index`
 * is that of the run's steps; below 0 it was cut off, and asked for anew by a retry.
 */
const ModelSpan = Schema.Struct({
  type: Schema.Literal("model"),
  startedAt: Schema.NullOr(Timestamp),
  endedAt: Timestamp,
  index: Schema.Int,
  epoch: Schema.Int,
  inputTokens: Schema.Int,
  cachedInputTokens: Schema.Int,
  outputTokens: Schema.Int,
  costUsd: Schema.NullOr(Schema.Finite),
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  /** Why the answer is not whole. */
  truncated: Schema.NullOr(Schema.String)
})

const ToolSpan = Schema.Struct({
  type: Schema.Literal("tool"),
  startedAt: Timestamp,
  endedAt: Timestamp,
  index: Schema.Int,
  epoch: Schema.Int,
  toolCallId: Schema.String,
  name: Schema.String,
  isError: Schema.Boolean
})

const ApprovalSpan = Schema.Struct({
  type: Schema.Literal("approval"),
  ...lasting,
  approvalId: ApprovalId,
  toolCallId: Schema.String,
  tool: Schema.String,
  status: ApprovalStatus,
  decidedBy: Schema.NullOr(UserId),
  reason: Schema.NullOr(Schema.String)
})

export const RunSpan = Schema.Union([QueuedSpan, TakeoverSpan, ModelSpan, ToolSpan, ApprovalSpan])
export type RunSpan = typeof RunSpan.Type

export const RunTimeline = Schema.Struct({
  runId: RunId,
  status: RunStatus,
  /** What went wrong, in a word for programs. */
  errorCode: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  /** When it was not to begin before, if anybody said so. */
  runAt: Schema.NullOr(Timestamp),
  startedAt: Schema.NullOr(Timestamp),
  finishedAt: Schema.NullOr(Timestamp),
  executions: Schema.Array(
    Schema.Struct({
      epoch: Schema.Int,
      startedAt: Schema.NullOr(Timestamp),
      cause: Schema.NullOr(ExecutionCause)
    })
  ),
  spans: Schema.Array(RunSpan)
}).annotate({ identifier: "RunTimeline" })
export type RunTimeline = typeof RunTimeline.Type

interface Told {
  readonly run: StoredRun
  readonly steps: ReadonlyArray<TimedStep>
  readonly executions: ReadonlyArray<KeptExecution>
  readonly approvals: ReadonlyArray<StoredApproval>
}

/** Clocks of several machines tell these times: nothing ends before it begins. */
const notBefore = (date: Date, first: Date | null): Date => (first !== null && date < first ? first : date)

/**
 * Whether it was cancelled before it had ever begun, and retried: until when it had waited, and for what, nobody knows any
 * more.
 */
const beganByRetry = ({ executions, run: { startedAt } }: Pick<Told, "executions" | "run">): boolean =>
  executions.some(({ begunAt, cause }) =>
    startedAt === null ? cause === "retry" : begunAt !== null && begunAt <= startedAt
  )

const executionsOf = ({ executions, run, steps }: Told): RunTimeline["executions"] => {
  const known = new Map<number, RunTimeline["executions"][number]>()
  for (const { epoch } of steps) known.set(epoch, { epoch, startedAt: null, cause: null })
  if (run.status === "RUNNING") known.set(run.epoch, { epoch: run.epoch, startedAt: null, cause: null })
  const begun = executions.flatMap(({ begunAt, cause, epoch }) =>
    begunAt === null || cause === "scheduled" ? [] : [{ epoch, startedAt: begunAt, cause }]
  )
  const { startedAt } = run
  if (startedAt !== null && !beganByRetry({ executions, run }))
    known.set(1, { epoch: 1, startedAt, cause: "start" })
  for (const execution of begun) known.set(execution.epoch, execution)
  return Array.from(known.values()).sort((a, b) => a.epoch - b.epoch)
}

const waitsOf = ({ executions, run }: Told, runAt: Date | null): ReadonlyArray<RunSpan> => {
  const again = executions.filter(({ cause }) => cause !== "scheduled")
  const spans: Array<RunSpan> = []
  // What is not due yet waits for no place.
  if (run.notBefore === null && !beganByRetry({ executions, run })) {
    const startedAt = runAt ?? run.createdAt
    const ended = run.startedAt ?? run.finishedAt
    const endedAt = ended && notBefore(ended, startedAt)
    spans.push({ type: "queued", startedAt, endedAt, epoch: 1, cause: "start" })
  }
  for (const { begunAt, cause, epoch, waitedSince: startedAt } of again) {
    // It never began, and something else came of it.
    if (begunAt === null && epoch !== run.epoch + 1) continue
    const ended = begunAt ?? run.finishedAt
    const span = { startedAt, endedAt: ended && notBefore(ended, startedAt), epoch }
    if (cause === "takeover") spans.push({ type: "takeover", ...span })
    else if (cause !== "scheduled") spans.push({ type: "queued", ...span, cause })
  }
  return spans
}

/** When what came before it in its execution was over. */
interface Before {
  readonly model: Date | null
  readonly step: Date | null
}

const stepsOf = (told: Told, executions: RunTimeline["executions"]): ReadonlyArray<RunSpan> => {
  const before = new Map<number, Before>()
  for (const { epoch, startedAt } of executions) before.set(epoch, { model: startedAt, step: startedAt })
  const answeredBy = new Map<number, AnsweringModel>()
  const ordered = told.steps.toSorted((a, b) => a.at.getTime() - b.at.getTime() || a.index - b.index)
  return ordered.map(({ at: endedAt, epoch, index, step }): RunSpan => {
    const known = before.get(epoch) ?? { model: null, step: null }
    const common = { endedAt, index, epoch }
    const within = (startedAt: Date) => (startedAt > endedAt ? endedAt : startedAt)
    if (step.type === "tool") {
      before.set(epoch, { ...known, step: endedAt })
      const { durationMs, id: toolCallId, isError, name } = step
      // Calls of one answer are made together.
      const startedAt = within(notBefore(new Date(endedAt.getTime() - durationMs), known.model))
      return { type: "tool", startedAt, ...common, toolCallId, name, isError }
    }
    before.set(epoch, { model: endedAt, step: endedAt })
    if (step.answeredBy !== null) answeredBy.set(epoch, step.answeredBy)
    const by = answeredBy.get(epoch)
    return {
      type: "model",
      startedAt: known.step && within(known.step),
      ...common,
      inputTokens: step.usage.inputTokens,
      cachedInputTokens: step.usage.cachedInputTokens ?? 0,
      outputTokens: step.usage.outputTokens,
      costUsd: toUsd(step.costNanos),
      provider: by?.provider ?? null,
      model: by?.model ?? null,
      truncated: step.truncated
    }
  })
}

const approvalsOf = ({ approvals, run }: Told): ReadonlyArray<RunSpan> =>
  approvals.map(
    ({ createdAt, decidedAt, decidedBy, expiresAt, id, reason, status, tool, toolCallId }): RunSpan => {
      const { finishedAt } = run
      const expired = finishedAt !== null && finishedAt < expiresAt ? finishedAt : expiresAt
      const ended = status === "EXPIRED" ? expired : decidedAt
      const endedAt = ended && notBefore(ended, createdAt)
      return {
        type: "approval",
        startedAt: createdAt,
        endedAt,
        approvalId: id,
        toolCallId,
        tool,
        status,
        decidedBy,
        reason
      }
    }
  )

const timeOf = ({ endedAt, startedAt }: RunSpan): number =>
  (startedAt ?? endedAt)?.getTime() ?? Number.POSITIVE_INFINITY

/** What a run did and waited for, along time. What of it is forgotten is left out. */
export const toRunTimeline = (told: Told): RunTimeline => {
  const { run } = told
  const scheduled = told.executions.find(({ cause }) => cause === "scheduled")
  const runAt = run.notBefore ?? scheduled?.waitedSince ?? null
  const executions = executionsOf(told)
  const spans = [...waitsOf(told, runAt), ...stepsOf(told, executions), ...approvalsOf(told)]
  return {
    runId: run.id,
    status: run.status,
    errorCode: run.errorCode,
    createdAt: run.createdAt,
    runAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    executions,
    spans: spans.sort((a, b) => timeOf(a) - timeOf(b))
  }
}
