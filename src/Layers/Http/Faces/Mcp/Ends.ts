import * as Effect from "effect/Effect"
import type { RunId } from "../../../../Schemas/Ids.ts"
import { isTerminal, type StoredRun } from "../../../../Schemas/Run.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Runs } from "../../../../Services/Runs.ts"
import { type TurnDetail, Turns } from "../../../../Services/Turns.ts"
import type { Exchange } from "./Exchange.ts"
import { RpcError } from "./Messages.ts"
import type { Followed } from "./Places.ts"
import * as Results from "./Results.ts"
import { sent } from "./Sent.ts"

/** What belongs to a task says so (version 2025-11-25). */
export const relatedTask = (taskId: RunId) => ({
  _meta: { "io.modelcontextprotocol/related-task": { taskId } }
})

const turnAnswer = ({ conversation, reply, run }: TurnDetail): Results.ToolAnswer =>
  run.status === "COMPLETED"
    ? Results.replyAnswer({
        conversationId: conversation.id,
        turnId: run.id,
        reply: reply?.content ?? run.output ?? "",
        usage: run.usage
      })
    : Results.failed(run.error ?? "The answer was cancelled.", run.errorCode ?? "cancelled")

/** The answers of runs and turns that are over. */
export const make = Effect.gen(function* () {
  const runs = yield* Runs
  const turns = yield* Turns

  const answerOf = Effect.fnUntraced(function* (caller: Caller, { kind, runId }: Followed) {
    if (kind === "turn") {
      const turn = yield* turns.get(caller, runId)
      return endOf(turn.run, () => turnAnswer(turn))
    }
    const run = yield* runs.get(caller, runId)
    return endOf(run, () => Results.outcomeOf(run))
  })

  /**
   * What a call is answered whose events have ended. Where its run goes on (this node stops, or has lost its database),
   * undefined for a client that may go on with the stream elsewhere; for another an error that says of which run.
   */
  return Effect.fnUntraced(function* (caller: Caller, exchange: Exchange, followed: Followed) {
    const answer = yield* answerOf(caller, followed)
    if (answer === undefined) {
      if (!exchange.isModern) return undefined
      const { runId } = followed
      return yield* new RpcError({
        code: -32603,
        message: `this node can't tell more of ${runId}, which goes on`,
        data: { runId }
      })
    }
    const { _meta } = relatedTask(followed.runId)
    return sent(exchange, followed.ofTask ? { ...answer, _meta: { ...answer._meta, ..._meta } } : answer)
  })
})

const endOf = <A>({ status }: Pick<StoredRun, "status">, answer: () => A): A | undefined =>
  isTerminal(status) ? answer() : undefined
