import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { lasting } from "../../Schemas/Conversation.ts"
import { cutResults } from "../../Schemas/Prompt.ts"
import type { RunStatus, StoredRun } from "../../Schemas/Run.ts"
import { type EventBatch, endOf } from "../../Schemas/RunEvent.ts"
import { ConversationRepo } from "../ConversationRepo.ts"
import { now } from "../CurrentTime.ts"
import { type RunOutcome, RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import { Transaction } from "../Transaction.ts"
import type { LoopResult } from "./AgentLoop.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"

/** How an execution ended; a turn's reply is stored with the trace of how it came about. */
export type Ending = RunOutcome & { readonly transcript?: LoopResult["transcript"] }

/** A FAILED run keeps what it cost. */
export const failed = (log: ExecutionLog, code: string, error: string) => ({
  status: "FAILED" as const,
  code,
  error,
  usage: log.usage()
})

/**
 * Stores how an execution ended and then tells of it. It may be interrupted in between: whoever listens here finds the
 * end in the store, as all others do.
 */
export const make = Effect.gen(function* () {
  const conversations = yield* ConversationRepo
  const repo = yield* RunRepo
  const { historyTokens } = yield* Settings
  const transaction = yield* Transaction

  /** A turn's reply, as far as it came, is stored in the transaction that ends it. */
  const store = (
    { turn }: StoredRun,
    ending: Ending,
    at: Date,
    log: ExecutionLog,
    batches: ReadonlyArray<EventBatch>
  ) => {
    const times = { at, firstTokenAt: log.firstTokenAt() }
    const finished = repo.finish(log.execution, { ...ending, spent: log.spent() }, times, batches)
    const { output, usage } = ending
    if (turn === null || output === undefined) return finished
    const reply = { id: turn.replyId, role: "ASSISTANT", content: output, createdAt: at } as const
    const parts = lasting(ending.transcript ?? []).map((part) => cutResults(part, historyTokens))
    return transaction.atomically(
      Effect.tap(finished, (isOurs) =>
        isOurs ? conversations.addReply(turn.conversationId, reply, { parts, usage }) : Effect.void
      )
    )
  }

  return Effect.fnUntraced(function* (run: StoredRun, ending: Ending, log: ExecutionLog) {
    const at = yield* now
    const end = (how: Ending) =>
      Effect.as(
        log.write((batches) => store(run, how, at, log, batches)),
        how
      )
    const how = yield* Effect.catchDefect(end(ending), (defect) =>
      // What can't be stored must not be tried for ever.
      Effect.logError("the end of a run can't be stored", Cause.die(defect)).pipe(
        Effect.andThen(log.discard),
        Effect.andThen(end(failed(log, "internal_error", "internal error")))
      )
    )
    const last = endOf({
      ...run,
      error: null,
      ...how,
      output: how.output ?? null,
      errorCode: how.status === "FAILED" ? how.code : null,
      finishedAt: at
    })
    if (last !== undefined) yield* log.tellEnd(last)
    return how.status satisfies RunStatus
  })
})
