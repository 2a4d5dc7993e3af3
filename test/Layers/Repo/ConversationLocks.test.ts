import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { MessageId } from "../../../src/Schemas/Ids.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { completed, minute, times } from "../../contract/RunSubject.ts"
import { makeConversation, makeWorkspace, newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

/** A conversation with a RUNNING turn. */
const makeTurn = Effect.gen(function* () {
  const workspaceId = yield* makeWorkspace
  const { id } = yield* makeConversation(workspaceId)
  const turn = { conversationId: id, replyId: yield* newId<MessageId>("message") }
  const run = { ...newRun(workspaceId), turn }
  assert.isTrue(yield* (yield* ConversationRepo).claimTurn(id, run.id))
  yield* (yield* RunRepo).insert(run, { worker: "w", leaseMillis: minute, perWorkspace: 0 })
  return { execution: { id: run.id, worker: "w", epoch: 1 }, id, run }
})

/** A deadlock is Unavailable to its victim: it fails these tests as an error. */
const suite = () => {
  it.live("a conversation is removed while its turn ends, and neither waits for the other", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const { execution, id, run } = yield* on(0, makeTurn)
      const ending = Effect.gen(function* () {
        const sql = yield* PgClient
        // An end has its run first, and then the conversation.
        yield* sql`select from runs where id = ${run.id} for update`
        const removing = yield* Effect.forkDetach(
          on(
            1,
            Effect.flatMap(ConversationRepo, (conversations) => conversations.remove(id))
          )
        )
        yield* on(1, Postgres.untilWaiting(1))
        assert.isTrue(yield* (yield* RunRepo).finish(execution, completed, times))
        return removing
      })
      const removing = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.run(ending))
      )
      assert.isTrue(Option.isSome(yield* Fiber.join(removing)))
      assert.isTrue(
        Option.isNone(
          yield* on(
            0,
            Effect.flatMap(RunRepo, (runs) => runs.find(run.id))
          )
        )
      )
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of conversations", suite)
else describe.skip(Postgres.skipped("Locks of conversations"), suite)
