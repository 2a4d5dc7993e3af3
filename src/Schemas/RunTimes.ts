import * as Schema from "effect/Schema"
import { AnsweringModel } from "./AnsweringModel.ts"
import type { JournalStep } from "./Journal.ts"
import type { StoredRun } from "./Run.ts"
import { Timestamp } from "./Timestamp.ts"
import { CountedUsage } from "./Usage.ts"

/** When a step was kept, by which execution, and what of it is no text. */
export const TimedStep = Schema.Struct({
  index: Schema.Int,
  epoch: Schema.Int,
  at: Timestamp,
  step: Schema.Union([
    Schema.Struct({
      type: Schema.Literal("model"),
      usage: CountedUsage,
      costNanos: Schema.NullOr(Schema.Finite),
      answeredBy: Schema.NullOr(AnsweringModel),
      truncated: Schema.NullOr(Schema.String)
    }),
    Schema.Struct({
      type: Schema.Literal("tool"),
      id: Schema.String,
      name: Schema.String,
      isError: Schema.Boolean,
      durationMs: Schema.Int
    })
  ])
})
export type TimedStep = typeof TimedStep.Type

export const withoutTexts = (step: JournalStep): TimedStep["step"] => {
  if (step.type === "tool") {
    const { durationMs, id, isError, name } = step.result
    return { type: "tool", id, name, isError, durationMs }
  }
  const { answeredBy = null, costNanos = null, truncated = null, usage } = step
  return { type: "model", usage, costNanos, answeredBy, truncated }
}

/**
 * Why a run was to be executed (once more), and since when: kept where it is not its first execution, which needs none,
 * and where it was not to begin before a time, with the first (`scheduled`). `begunAt` is null until it is executed, and
 * of `scheduled` always: the run says it.
 */
export const KeptExecution = Schema.Struct({
  epoch: Schema.Int,
  cause: Schema.Literals(["scheduled", "approval", "retry", "handed_back", "takeover"]),
  waitedSince: Timestamp,
  begunAt: Schema.NullOr(Timestamp)
})
export type KeptExecution = typeof KeptExecution.Type

/** Of no run more are told: the latest. */
export const mostExecutions = 1_000

/**
 * What is to be kept of a run that has changed, if anything: a row that waits, or that has begun now. What the database
 * does by triggers.
 */
export const executionNoted = (
  before: StoredRun,
  after: StoredRun,
  { at, leaseEndedAt }: { readonly at: Date; readonly leaseEndedAt: Date }
): KeptExecution | "begun" | undefined => {
  if (after.status === "RUNNING" && after.epoch > before.epoch && after.epoch > 1) {
    if (before.status !== "RUNNING") return "begun"
    const waitedSince = leaseEndedAt < at ? leaseEndedAt : at
    return { epoch: after.epoch, cause: "takeover", waitedSince, begunAt: at }
  }
  if (after.status !== "PENDING") return
  const next = { epoch: after.epoch + 1, begunAt: null }
  switch (before.status) {
    case "PENDING":
      return before.notBefore !== null && after.notBefore === null
        ? { ...next, cause: "scheduled", waitedSince: before.notBefore }
        : undefined
    case "WAITING_APPROVAL":
      return { ...next, cause: "approval", waitedSince: at }
    case "RUNNING":
      return { ...next, cause: "handed_back", waitedSince: at }
    default:
      return { ...next, cause: "retry", waitedSince: at }
  }
}
