import * as Schema from "effect/Schema"
import type { StoredRun } from "./Run.ts"
import { type NumberedEvent, responding, stride } from "./RunEvent.ts"

/** 409: what can't be made to go on. */
export class RunNotRetryable extends Schema.TaggedError<RunNotRetryable>()("RunNotRetryable", {
  error: Schema.String
}) {}

/**
 * Why a run can't be made to go on behind its last step (CONTRACT.md section 11), if it can't. Without its journal,
 * which is `forgotten` some time after the end, it would do again what it has done.
 */
export const retryProblem = (
  { status, turn }: Pick<StoredRun, "status" | "turn">,
  isForgotten: boolean
): string | undefined => {
  if (turn !== null) return "an answer in a chat is not retried: send the message again"
  if (status !== "FAILED" && status !== "CANCELLED") {
    return `the run is ${status}: only one that is FAILED or CANCELLED can be retried`
  }
  return isForgotten
    ? "the steps of the run are forgotten, and it would repeat them: send the task again"
    : undefined
}

/** A run as it is when it goes on: due at once, and with nothing of how it ended. */
export const retried = (run: StoredRun, at: Date): StoredRun => ({
  ...run,
  status: "PENDING",
  notBefore: null,
  output: null,
  error: null,
  errorCode: null,
  // One that nobody has: what it tells next is no first execution's.
  epoch: run.epoch + 1,
  finishedAt: null,
  updatedAt: at
})

/**
 * What a run tells when it is retried, behind the end that it had: no id that was told comes again, and who read that end
 * is told of what comes. It says nothing, so that it is part of no answer.
 */
export const retryEvent = (run: StoredRun, lastId: number): NumberedEvent => ({
  id: Math.max(lastId + 1, run.epoch * stride) + 1,
  event: responding(null, "")
})
