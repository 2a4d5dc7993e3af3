import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { StoredConversation } from "../../../src/Schemas/Conversation.ts"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { ConversationId, MessageId, RunId } from "../../../src/Schemas/Ids.ts"
import type { NewRun } from "../../../src/Schemas/Run.ts"
import { type NumberedEvent, thinking } from "../../../src/Schemas/RunEvent.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { Ids } from "../../../src/Services/Ids.ts"
import { type Execution, RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { completed, minute, times } from "../../contract/RunSubject.ts"
import { makeConversation, makeWorkspace, newId, newMessage } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

/** A conversation with a RUNNING turn. */
const makeTurn = Effect.gen(function* () {
  const workspaceId = yield* makeWorkspace
  const { id } = yield* makeConversation(workspaceId)
  const turn = { conversationId: id, replyId: yield* newId<MessageId>("message") }
  const run = { ...newRun(workspaceId), turn }
  assert.isTrue(yield* (yield* ConversationRepo).claimTurn(id, run.id))
  yield* (yield* RunRepo).insert(run, { worker: "w", leaseMillis: minute, perWorkspace: 1_000 })
  return { execution: { id: run.id, worker: "w", epoch: 1 }, id, run }
})

const remove = (id: ConversationId) =>
  Effect.flatMap(ConversationRepo, (conversations) => conversations.remove(id))
const finish = (execution: Execution) =>
  Effect.flatMap(RunRepo, (runs) => runs.finish(execution, completed, times))

const conversationOf = (id: ConversationId) =>
  Effect.flatMap(ConversationRepo, (conversations) => Effect.map(conversations.find(id), Option.getOrThrow))

/** A message to a conversation begins that turn; false where it can't. */
const beginOf = Effect.fnUntraced(function* (conversation: StoredConversation, run: NewRun) {
  const message = yield* newMessage().pipe(Effect.provide(Ids.layer))
  const first: NumberedEvent = { id: 1, event: thinking }
  const begun = yield* (yield* ConversationRepo).begin(
    { conversation, message, after: null, parts: null, run, first },
    { isNew: false, start: { worker: "w", leaseMillis: minute, perWorkspace: 1_000 } }
  )
  return Option.getOrElse(begun, () => false)
})

/**
 * A transaction that has the run of a turn and then does `then`, while the conversation is being removed, which
 * waits for it. A deadlock is Unavailable to its victim: it fails these tests as an error.
 */
const removedMeanwhile = Effect.fnUntraced(function* <A>(
  then: (
    turn: Effect.Success<typeof makeTurn>
  ) => Effect.Effect<A, Unavailable, ConversationRepo | PgClient | RunRepo>
) {
  const { on } = yield* makeNodes(2)
  const turn = yield* on(0, makeTurn)
  const holding = Effect.gen(function* () {
    const sql = yield* PgClient
    yield* sql`select from runs where id = ${turn.run.id} for update`.pipe(Effect.orDie)
    const removing = yield* Effect.forkDetach(on(1, remove(turn.id)))
    yield* Effect.orDie(on(1, Postgres.untilWaiting(1)))
    return { did: yield* then(turn), removing }
  })
  const { did, removing } = yield* on(
    0,
    Effect.flatMap(Transaction, (transaction) => transaction.atomically(holding))
  )
  const removed = yield* Fiber.join(removing)
  const left = yield* on(
    0,
    Effect.flatMap(RunRepo, (runs) => runs.find(turn.run.id))
  )
  assert.isTrue(Option.isNone(left))
  return { did, removed }
})

const suite = () => {
  it.live("a conversation is removed while its turn ends", () =>
    Effect.gen(function* () {
      const { did, removed } = yield* removedMeanwhile(({ execution }) => finish(execution))
      assert.isTrue(did)
      assert.deepStrictEqual(removed, Option.some({ turnId: null }))
    })
  )

  it.live(
    "a conversation is removed while the end of a turn that is over is written again, and waits not",
    () =>
      Effect.gen(function* () {
        const { on } = yield* makeNodes(2)
        const { execution, id, run } = yield* on(0, makeTurn)
        yield* on(0, finish(execution))
        const writing = Effect.gen(function* () {
          assert.isTrue(yield* finish(execution))
          assert.deepStrictEqual(yield* on(1, remove(id)), Option.some({ turnId: null }))
          const reply = yield* newMessage({ role: "ASSISTANT" }).pipe(Effect.provide(Ids.layer))
          return yield* (yield* ConversationRepo).addReply(id, reply, { parts: [], usage: noUsage })
        })
        const isAdded = yield* on(
          0,
          Effect.flatMap(Transaction, (transaction) => transaction.atomically(writing))
        )
        assert.isFalse(isAdded)
        const left = yield* on(
          1,
          Effect.flatMap(RunRepo, (runs) => runs.find(run.id))
        )
        assert.isTrue(Option.isNone(left))
      })
  )

  it.live(
    "a message is sent while somebody has its conversation, who then counts a run of the workspace",
    () =>
      Effect.gen(function* () {
        const { on } = yield* makeNodes(2)
        const turn = yield* on(0, makeTurn)
        yield* on(0, finish(turn.execution))
        const next = { ...turn.run, id: `${turn.run.id}_next` as RunId }
        const begin = beginOf(yield* on(0, conversationOf(turn.id)), next)
        // As the end of a turn does.
        const ending = Effect.gen(function* () {
          const sql = yield* PgClient
          yield* sql`select from conversations where id = ${turn.id} for update`
          const beginning = yield* Effect.forkDetach(on(1, begin))
          yield* on(1, Postgres.untilWaiting(1))
          yield* sql`select from run_slots where workspace_id = ${turn.run.workspaceId} for update`
          return beginning
        }).pipe(Effect.orDie)
        const beginning = yield* on(
          0,
          Effect.flatMap(Transaction, (transaction) => transaction.atomically(ending))
        )
        assert.isTrue(yield* Fiber.join(beginning))
      })
  )

  it.live("a conversation is removed twice at once, while another turn would begin in it", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(4)
      const turn = yield* on(0, makeTurn)
      yield* on(0, finish(turn.execution))
      // In front of the one that is over, in the order in which runs are locked.
      const next = { ...turn.run, id: `turn_0${turn.run.id.slice(5)}` as RunId }
      const begin = beginOf(yield* on(0, conversationOf(turn.id)), next)
      const holding = Effect.gen(function* () {
        const sql = yield* PgClient
        yield* sql`select from conversations where id = ${turn.id} for update`.pipe(Effect.orDie)
        const first = yield* Effect.forkDetach(on(1, remove(turn.id)))
        yield* Effect.orDie(on(1, Postgres.untilWaiting(1)))
        const beginning = yield* Effect.forkDetach(on(2, begin))
        yield* Effect.orDie(on(1, Postgres.untilWaiting(2)))
        // For the removal, and not for the conversation: the removal has looked already which turn it ends.
        const [{ behind } = { behind: 0 }] = yield* sql<{ behind: number }>`
          select count(*)::int as behind from pg_stat_activity
          where datname = current_database() and wait_event = 'advisory'`.pipe(Effect.orDie)
        assert.strictEqual(behind, 1)
        const second = yield* Effect.forkDetach(on(3, remove(turn.id)))
        yield* Effect.orDie(on(1, Postgres.untilWaiting(3)))
        return [first, second, beginning] as const
      })
      const [first, second, beginning] = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(holding))
      )
      const removals = [yield* Fiber.join(first), yield* Fiber.join(second)]
      assert.deepStrictEqual(removals, [Option.some({ turnId: null }), Option.none()])
      assert.isFalse(yield* Fiber.join(beginning))
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of conversations", suite)
else describe.skip(Postgres.skipped("Locks of conversations"), suite)
