import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { MessageId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { append } from "../support/Appended.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeConversation,
  makeRun,
  makeWorkspace,
  newId,
  newMessage,
  newRun
} from "../support/Fixtures.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { completed, executionOf, idsOf, makeRuns, minute, subject, times } from "./RunSubject.ts"

const step = (text: string): JournalStep => ({
  type: "model",
  text,
  toolCalls: [],
  usage: { inputTokens: 0, outputTokens: 0 }
})

const event = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: `${id}` } }
})

const trace = { parts: [], usage: { inputTokens: 0, outputTokens: 0 } }

/** Chat: a turn that a worker answers. */
const startTurn = Effect.fnUntraced(function* (workspaceId: WorkspaceId, worker: string) {
  const { id: conversationId } = yield* makeConversation(workspaceId)
  const turn = yield* newRun(workspaceId, {
    id: yield* newId<RunId>("turn"),
    turn: { conversationId, replyId: yield* newId<MessageId>("message") }
  })
  const started = yield* (yield* RunRepo).insert(turn, { worker, leaseMillis: minute, perWorkspace: 1_000 })
  assert.isTrue(started)
})

/** What comes first where a limit cuts, or where answers have an order: alike on every backend. */
export const suite = (it: It) =>
  describe("What comes first", { concurrent: false }, () => {
    it.effect("takes over those first whose leases ended first, and answers the oldest first", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const made = yield* makeRuns(workspaceId, 4)
        const claimed = yield* claim(a)
        assert.deepStrictEqual(idsOf(claimed), idsOf(made))
        for (const [index, millis] of [-3_000, -1_000, -2_000, -4_000].entries()) {
          const run = claimed[index] ?? assert.fail()
          yield* runs.renew(a, [executionOf(a, run)], millis)
        }
        const options = { worker: b, leaseMillis: minute, maxCrashes: 3 }
        const first = yield* runs.takeOver({ ...options, limit: 2 })
        assert.deepStrictEqual(idsOf(first), [made[0]?.id, made[3]?.id])
        assert.deepStrictEqual(idsOf(yield* runs.takeOver({ ...options, limit: 1 })), [made[2]?.id])
        assert.deepStrictEqual(idsOf(yield* runs.takeOver({ ...options, limit: 1 })), [made[1]?.id])
      })
    )

    it.effect("forgets those first that were over first", () =>
      Effect.gen(function* () {
        const { a, claim, find, runs, workspaceId } = yield* subject
        const journal = yield* RunJournal
        yield* makeRuns(workspaceId, 3)
        // Long before what other tests leave.
        const finished = [-7_000_000_002, -7_000_000_003, -7_000_000_001]
        const claimed = yield* claim(a)
        for (const [index, millis] of finished.entries()) {
          const execution = executionOf(a, claimed[index] ?? assert.fail())
          yield* journal.record(execution, 0, step("kept"))
          yield* runs.finish(execution, completed, { ...times, at: at(millis) })
          assert.deepStrictEqual((yield* find(execution.id)).finishedAt, at(millis))
        }
        const before = at(-6_000_000_000)
        const prune = (eventsBefore: Date, journalsBefore: Date) =>
          runs.prune({ eventsBefore, journalsBefore, limit: 1 })
        const kept = Effect.forEach(claimed, ({ id }) => Effect.map(journal.steps(id), ({ size }) => size))
        for (let n = 0; n < 3; n++) assert.strictEqual(yield* prune(before, at(-8_000_000_000)), 1)
        assert.deepStrictEqual(yield* kept, [1, 1, 1])
        assert.strictEqual(yield* prune(at(-8_000_000_000), before), 1)
        assert.deepStrictEqual(yield* kept, [1, 0, 1])
        assert.strictEqual(yield* prune(at(-8_000_000_000), before), 1)
        assert.deepStrictEqual(yield* kept, [0, 0, 1])
      })
    )

    it.effect("gives workspaces turns by when tasks of theirs started, whatever chats they begin", () =>
      Effect.gen(function* () {
        const { a, claim, claimOne, runs, workspaceId: one } = yield* subject
        const two = yield* makeWorkspace
        for (const workspaceId of [one, two]) {
          yield* makeRun(workspaceId)
          yield* runs.finish(executionOf(a, yield* claimOne(a)), completed, times)
        }
        yield* startTurn(one, a)
        yield* makeRun(two, { createdAt: at(1) })
        yield* makeRun(one, { createdAt: at(2) })
        const [next] = yield* claim(a, { limit: 1 })
        assert.strictEqual(next?.workspaceId, one)
      })
    )

    it.effect(
      "gives workspaces turns by when tasks of theirs started, and not by when another took one over",
      () =>
        Effect.gen(function* () {
          const { a, b, claim, claimOne, takeOver, workspaceId: one } = yield* subject
          const two = yield* makeWorkspace
          yield* makeRun(one)
          yield* claimOne(a, 0)
          yield* makeRun(two)
          yield* claimOne(a)
          assert.strictEqual((yield* takeOver(b)).length, 1)
          yield* makeRun(two, { createdAt: at(1) })
          yield* makeRun(one, { createdAt: at(2) })
          const [next] = yield* claim(a, { limit: 1 })
          assert.strictEqual(next?.workspaceId, one)
        })
    )

    it.effect("says that a run changed when its worker died, and not when it started as it was made", () =>
      Effect.gen(function* () {
        const { a, find, runs, workspaceId } = yield* subject
        const run = yield* newRun(workspaceId)
        yield* runs.insert(run, { worker: a, leaseMillis: minute, perWorkspace: 1 })
        assert.deepStrictEqual((yield* find(run.id)).updatedAt, run.updatedAt)
        yield* runs.release(a, { crashed: true, maxCrashes: 3 })
        assert.notDeepEqual((yield* find(run.id)).updatedAt, run.updatedAt)
      })
    )

    it.effect("gives back the steps of a run by their index, whichever was finished first", () =>
      Effect.gen(function* () {
        const { a, claimOne, workspaceId } = yield* subject
        const journal = yield* RunJournal
        const { id } = yield* makeRun(workspaceId)
        const execution = executionOf(a, yield* claimOne(a))
        for (const index of [2, 0, 10, 1]) yield* journal.record(execution, index, step(`${index}`))
        assert.deepStrictEqual(Array.from((yield* journal.steps(id)).keys()), [0, 1, 2, 10])
      })
    )

    it.effect("gives back the events of a run by their place, whichever were kept first", () =>
      Effect.gen(function* () {
        const { a, claimOne, workspaceId } = yield* subject
        const events = yield* RunEventRepo
        const { id } = yield* makeRun(workspaceId)
        const execution = executionOf(a, yield* claimOne(a))
        for (const place of [5, 1, 3]) yield* append(events, execution, [[event(place)]])
        const places = (after: number, limit = 100) =>
          Effect.map(events.read(id, after, limit), (found) => found.map((kept) => kept.id))
        assert.deepStrictEqual(yield* places(0), [1, 3, 5])
        assert.deepStrictEqual(yield* places(0, 2), [1, 3])
        assert.deepStrictEqual(yield* places(2, 1), [3])
        assert.deepInclude((yield* events.glance([id])).get(id) ?? assert.fail(), { lastId: 5 })
      })
    )

    it.effect("measures history in bytes", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const { id } = yield* makeConversation(yield* makeWorkspace)
        for (const content of ["a", "日本語", "b"]) {
          yield* conversations.addMessage(id, yield* newMessage({ content }))
        }
        const shown = (maximumBytes: number) =>
          Effect.map(conversations.history(id, maximumBytes), (entries) => entries.length)
        assert.strictEqual(yield* shown(1), 1)
        assert.strictEqual(yield* shown(2), 2)
        assert.strictEqual(yield* shown(10), 2)
        assert.strictEqual(yield* shown(11), 3)
      })
    )

    it.effect(
      "does not list a conversation further down for a reply that is older than its newest message",
      () =>
        Effect.gen(function* () {
          const conversations = yield* ConversationRepo
          const workspaceId = yield* makeWorkspace
          const { id } = yield* makeConversation(workspaceId)
          const other = yield* makeConversation(workspaceId, { updatedAt: at(2_000) })
          yield* conversations.addMessage(id, yield* newMessage({ createdAt: at(3_000) }))
          const reply = yield* newMessage({ role: "ASSISTANT", createdAt: at(1_000) })
          assert.isTrue(yield* conversations.addReply(id, reply, trace))
          const listed = yield* conversations.list({ workspaceId, limit: 9, offset: 0 })
          assert.deepStrictEqual(
            listed.map((conversation) => [conversation.id, conversation.updatedAt]),
            [
              [id, at(3_000)],
              [other.id, at(2_000)]
            ]
          )
        })
    )

    it.effect("keeps the first word on what a job has missed, and nothing of what is not there", () =>
      Effect.gen(function* () {
        const fires = yield* CronFireRepo
        const { atomically: transact } = yield* Transaction
        const { id: cronJobId } = yield* makeCronJob(yield* makeWorkspace, { nextFireAt: null })
        const until = new Date(Date.UTC(2026, 0, 1))
        const backlog = (seconds: number) => ({
          cronJobId,
          schedule: "@daily",
          timezone: "UTC",
          from: new Date(until.getTime() - seconds * 1_000),
          until
        })
        const record = (seconds: number) =>
          fires.record({ firedAt: at(), slots: [], backlogs: [backlog(seconds)], next: [] })
        const kept = Effect.map(
          transact(fires.claimBacklog(100 * 365 * 24 * 3_600_000)),
          Option.map((claimed) => claimed.backlog)
        )
        yield* record(20)
        yield* record(10)
        assert.deepStrictEqual(yield* kept, Option.some(backlog(20)))
        yield* fires.recordMissed(backlog(20), { at: at(), slots: [], rest: null })
        yield* fires.recordMissed(backlog(20), { at: at(), slots: [], rest: backlog(5) })
        assert.deepStrictEqual(yield* kept, Option.none())
      })
    )
  })
