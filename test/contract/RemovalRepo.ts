import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { ConversationId, MessageId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { RemovalRepo } from "../../src/Services/RemovalRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { append } from "../support/Appended.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeConversation,
  makeProviderKey,
  makeRun,
  makeWorkspace,
  newId,
  newMessage,
  newRun
} from "../support/Fixtures.ts"
import { eventOf } from "../support/HeldRuns.ts"
import { listed, messagesOf } from "../support/Listed.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { executionOf, minute, subject as ofRuns } from "./RunSubject.ts"

/** Everything of one kind that can be deleted, with what names it and how that is read. */
const makeAgentOf = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const { id: agentId } = yield* makeAgent(workspaceId)
  const [agents, conversations] = [yield* AgentRepo, yield* ConversationRepo]
  const [cronJobs, runs] = [yield* CronJobRepo, yield* RunRepo]
  const conversation = yield* makeConversation(workspaceId, { agentId })
  const job = yield* makeCronJob(workspaceId, { agentId, nextFireAt: at(5) })
  const tasks = yield* Effect.replicateEffect(makeRun(workspaceId, { agentId, status: "COMPLETED" }), 5)
  const named = Effect.gen(function* () {
    const { agent, agentId: inConversation } = Option.getOrThrow(yield* conversations.find(conversation.id))
    const [listed] = yield* conversations.list({ workspaceId, limit: 9, offset: 0 })
    const found = Option.getOrThrow(yield* cronJobs.find(job.id))
    const ofRuns = yield* Effect.forEach(tasks, ({ id }) =>
      Effect.map(runs.find(id), (run) => Option.getOrThrow(run).agentId)
    )
    const filtered = yield* runs.list({ workspaceId, agentId, limit: 9, offset: 0 })
    const all = yield* runs.list({ workspaceId, limit: 9, offset: 0 })
    return [
      ...[agent, inConversation, listed?.agentId, listed?.agent, found.agent, found.agentId],
      ...[...ofRuns, ...all.runs.map((run) => run.agentId)],
      ...filtered.runs
    ]
  })
  return { agentId, agents, job, named, runs }
})

/** A turn that answers in a conversation. */
const startTurn = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  worker: string,
  conversationId: ConversationId
) {
  const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
  const run = yield* newRun(workspaceId, { id: yield* newId<RunId>("turn"), turn })
  assert.isTrue(yield* (yield* ConversationRepo).claimTurn(conversationId, run.id))
  yield* (yield* RunRepo).insert(run, { worker, leaseMillis: minute, perWorkspace: 1_000 })
  return run
})

/** Until nothing is left to do, in batches of so many rows; answers of how many each of them was. */
const advanceAll = Effect.fnUntraced(function* (id: string, limit: number) {
  const removals = yield* RemovalRepo
  const counts: Array<number> = []
  while (true) {
    const removal = (yield* removals.pending(1_000)).find((each) => each.id === id)
    if (removal === undefined) return counts
    counts.push(yield* removals.advance(removal, limit))
  }
})

const isPending = (id: string) =>
  Effect.map(
    Effect.flatMap(RemovalRepo, (removals) => removals.pending(1_000)),
    (pending) => pending.some((each) => each.id === id)
  )

export const suite = (it: It) =>
  describe("RemovalRepo", { concurrent: false }, () => {
    it.effect("an agent is gone at once for all that named it, and for good when they let go of it", () =>
      Effect.gen(function* () {
        const { agentId, agents, job, named, runs } = yield* makeAgentOf(yield* makeWorkspace)
        const before = yield* named
        assert.strictEqual(before.filter((each) => each === null).length, 0)
        assert.isTrue(yield* agents.remove(agentId))
        const gone = (yield* named).filter((each) => each !== null)
        assert.deepStrictEqual(gone, [])
        assert.deepStrictEqual(yield* agents.find(agentId), Option.none())
        assert.deepStrictEqual(yield* listed(agents, { workspaceId: job.workspaceId }), [])
        assert.deepStrictEqual(yield* agents.update(agentId, { name: "New" }, at(9)), Option.none())
        assert.isFalse(yield* agents.remove(agentId))
        // Its jobs go on without one.
        const { jobs: due } = yield* (yield* Transaction).atomically((yield* CronFireRepo).claim(1_000))
        const fired = due.find(({ id }) => id === job.id)
        assert.deepStrictEqual([fired?.agentId, fired?.agentIsActive], [null, true])
        // Whatever is written meanwhile.
        const other = yield* makeRun(job.workspaceId, { status: "PENDING" })
        yield* runs.cancel(other.id, at(1))
        const counts = yield* advanceAll(agentId, 2)
        for (const count of counts) assert.isAtMost(count, 2)
        assert.isFalse(yield* isPending(agentId))
        assert.deepStrictEqual(
          (yield* named).filter((each) => each !== null),
          []
        )
      })
    )

    it.effect("goes on where it broke off, whoever does it, and does nothing twice", () =>
      Effect.gen(function* () {
        const [removals, transaction] = [yield* RemovalRepo, yield* Transaction]
        const { agentId, agents, named } = yield* makeAgentOf(yield* makeWorkspace)
        yield* agents.remove(agentId)
        const removal = { kind: "agent", id: agentId } as const
        yield* removals.advance(removal, 1)
        const broken = transaction.atomically(Effect.andThen(removals.advance(removal, 2), Effect.interrupt))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(broken)))
        const together = Effect.replicateEffect(removals.advance(removal, 1), 4, { concurrency: "unbounded" })
        for (const count of yield* together) assert.isAtMost(count, 1)
        yield* advanceAll(agentId, 3)
        assert.strictEqual(yield* removals.advance(removal, 3), 0)
        assert.deepStrictEqual(
          (yield* named).filter((each) => each !== null),
          []
        )
      })
    )

    it.effect("touches nothing that was not deleted", () =>
      Effect.gen(function* () {
        const removals = yield* RemovalRepo
        const { agentId, agents, named } = yield* makeAgentOf(yield* makeWorkspace)
        const before = yield* named
        assert.strictEqual(yield* removals.advance({ kind: "agent", id: agentId }, 9), 0)
        assert.isFalse(yield* isPending(agentId))
        assert.deepStrictEqual(yield* named, before)
        assert.isTrue(Option.isSome(yield* agents.find(agentId)))
      })
    )

    it.effect("a run that comes in while its agent is deleted is refused or has none", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        for (let n = 0; n < 5; n++) {
          const { id: agentId } = yield* makeAgent(workspaceId)
          const run = yield* newRun(workspaceId, { agentId, status: "COMPLETED" })
          const [inserted] = yield* Effect.all([Effect.exit(runs.insert(run)), agents.remove(agentId)], {
            concurrency: "unbounded"
          })
          const kept = Exit.isSuccess(inserted) ? Option.some(null) : Option.none()
          const named = Effect.map(runs.find(run.id), (found) => Option.map(found, (each) => each.agentId))
          assert.deepStrictEqual(yield* named, kept)
          yield* advanceAll(agentId, 9)
          assert.deepStrictEqual(yield* named, kept)
        }
      })
    )

    it.effect("a provider key is gone at once, its secret with it, and chosen by nobody", () =>
      Effect.gen(function* () {
        const [agents, keys] = [yield* AgentRepo, yield* ProviderKeyRepo]
        const [runs, workspaces] = [yield* RunRepo, yield* WorkspaceRepo]
        const workspaceId = yield* makeWorkspace
        const [gone, kept] = [yield* makeProviderKey(workspaceId), yield* makeProviderKey(workspaceId)]
        const agent = yield* makeAgent(workspaceId, { providerKeyId: gone.id })
        const run = yield* makeRun(workspaceId, { providerKeyId: gone.id, status: "COMPLETED" })
        yield* workspaces.update(workspaceId, { name: "w", defaultProviderKeyId: gone.id }, at())
        const hold = Effect.gen(function* () {
          assert.deepStrictEqual(yield* keys.find(gone.id), Option.none())
          assert.deepStrictEqual(yield* keys.list(workspaceId), [kept])
          assert.deepStrictEqual(yield* keys.usable(workspaceId), [{ ...kept, isDefault: false }])
          assert.isNull(Option.getOrThrow(yield* workspaces.find(workspaceId)).defaultProviderKeyId)
          assert.isNull(Option.getOrThrow(yield* workspaces.lock(workspaceId)).defaultProviderKeyId)
          const without = { ...agent, providerKeyId: null, providerKey: null }
          assert.deepStrictEqual(yield* listed(agents, { workspaceId }), [without])
          assert.isNull(Option.getOrThrow(yield* runs.find(run.id)).providerKeyId)
        })
        assert.isTrue(yield* keys.remove(gone.id))
        yield* hold
        yield* advanceAll(gone.id, 1)
        yield* hold
        assert.isFalse(yield* keys.remove(gone.id))
      })
    )

    it.effect("a cron job is gone at once with its ledger, is due no more, and its runs stay", () =>
      Effect.gen(function* () {
        const [fires, jobs, runs] = [yield* CronFireRepo, yield* CronJobRepo, yield* RunRepo]
        const workspaceId = yield* makeWorkspace
        const job = yield* makeCronJob(workspaceId, { nextFireAt: at(-1_000) })
        const run = yield* newRun(workspaceId, { cronJobId: job.id, status: "COMPLETED" })
        const slot = { cronJobId: job.id, outcome: "fired", run } as const
        yield* fires.record({
          firedAt: at(),
          slots: [
            { ...slot, scheduledAt: at(1) },
            { ...slot, scheduledAt: at(2), outcome: "missed", run: null }
          ],
          backlogs: [
            { cronJobId: job.id, schedule: "* * * * *", timezone: "UTC", from: at(3), until: at(9) }
          ],
          next: []
        })
        const hold = Effect.gen(function* () {
          assert.deepStrictEqual(yield* jobs.find(job.id), Option.none())
          assert.deepStrictEqual(yield* jobs.lock(job.id), Option.none())
          assert.deepStrictEqual(yield* listed(jobs, { workspaceId }), [])
          assert.deepStrictEqual(yield* jobs.update(job.id, { name: "New" }, at(9)), Option.none())
          assert.deepStrictEqual(yield* fires.list({ cronJobId: job.id, limit: 9, offset: 0 }), [])
          assert.isNull(Option.getOrThrow(yield* runs.find(run.id)).cronJobId)
          const filter = { workspaceId, cronJobId: job.id, limit: 9, offset: 0 }
          assert.deepStrictEqual(yield* runs.list(filter), { runs: [], next: null, total: 0 })
          const { jobs: due } = yield* (yield* Transaction).atomically(fires.claim(1_000))
          assert.isFalse(due.some(({ id }) => id === job.id))
          assert.isFalse(
            Option.exists(yield* fires.claimBacklog(1e15), (got) => got.backlog.cronJobId === job.id)
          )
        })
        assert.isTrue(yield* jobs.remove(job.id))
        yield* hold
        yield* advanceAll(job.id, 1)
        yield* hold
        assert.isFalse(yield* jobs.remove(job.id))
      })
    )

    it.effect("a conversation is gone at once with its messages and turns, those that are over too", () =>
      Effect.gen(function* () {
        const { a, claim, runs, takeOver, workspaceId } = yield* ofRuns
        const [conversations, events] = [yield* ConversationRepo, yield* RunEventRepo]
        const { id: conversationId } = yield* makeConversation(workspaceId)
        const over = yield* startTurn(workspaceId, a, conversationId)
        yield* conversations.addMessage(conversationId, yield* newMessage())
        yield* append(events, executionOf(a, { ...over, epoch: 1 }), [[eventOf(1)]])
        yield* runs.cancel(over.id, at())
        const live = yield* startTurn(workspaceId, a, conversationId)
        const hold = Effect.gen(function* () {
          assert.deepStrictEqual(yield* conversations.find(conversationId), Option.none())
          assert.deepStrictEqual(yield* conversations.list({ workspaceId, limit: 9, offset: 0 }), [])
          assert.deepStrictEqual(yield* messagesOf(conversations, conversationId), [])
          assert.deepStrictEqual(yield* conversations.history(conversationId, 1e6), [])
          assert.isFalse(yield* conversations.claimTurn(conversationId, live.id))
          const message = yield* newMessage()
          assert.isFalse(yield* conversations.addMessage(conversationId, message))
          for (const { id } of [over, live]) {
            assert.deepStrictEqual(yield* runs.find(id), Option.none())
            assert.strictEqual((yield* events.glance([id])).size, 0)
            assert.deepStrictEqual(yield* events.look([{ id, after: 0 }], 9), [undefined])
            assert.deepStrictEqual(yield* events.read(id, 0, 9), [])
          }
          assert.deepStrictEqual([yield* claim(a), yield* takeOver(a)], [[], []])
        })
        assert.deepStrictEqual(yield* conversations.remove(conversationId), Option.some({ turnId: live.id }))
        yield* hold
        const { lost } = yield* runs.renew(a, [{ id: live.id, epoch: 1 }], minute)
        assert.deepStrictEqual(lost, new Set([live.id]))
        yield* advanceAll(conversationId, 1)
        yield* hold
        assert.deepStrictEqual(yield* conversations.remove(conversationId), Option.none())
      })
    )
  })
