import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { MessageId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import { plainInput } from "../../src/Schemas/TurnInput.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { type Claimant, RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeConversation, makeRun, newId, newRun } from "../support/Fixtures.ts"
import {
  completed,
  executionOf,
  failed,
  idsOf,
  minute,
  subject as ofRuns,
  renewal,
  sweep,
  times
} from "./RunSubject.ts"

/** A conversation that a turn answers in: RUNNING for a worker at once, or PENDING. */
export const makeTurn = Effect.fnUntraced(function* (workspaceId: WorkspaceId, start?: Claimant) {
  const runs = yield* RunRepo
  const conversations = yield* ConversationRepo
  const { id: conversationId } = yield* makeConversation(workspaceId)
  const run = yield* newRun(workspaceId, {
    id: yield* newId<RunId>("turn"),
    turn: { conversationId, replyId: yield* newId<MessageId>("message") }
  })
  assert.isTrue(yield* conversations.claimTurn(conversationId, run.id))
  const started = yield* runs.insert(run, start && { ...start, perWorkspace: 1_000 })
  assert.strictEqual(started, start !== undefined)
  const other = yield* newId<RunId>("turn")
  /** Looks by claiming: what is free then is not any more. */
  const isFree = conversations.claimTurn(conversationId, other)
  return { conversationId, execution: { id: run.id, worker: start?.worker ?? "", epoch: 1 }, isFree, run }
})

const subject = Effect.gen(function* () {
  const given = yield* ofRuns
  const options = { limit: 100, leaseMillis: minute, kind: "turn" as const }
  yield* given.runs.claim({ ...options, worker: "sweeper", perWorkspace: 1_000 })
  yield* sweep("turn")
  const claimTurns = (worker: string, limit = 100) =>
    given.runs.claim({ ...options, worker, limit, perWorkspace: 1_000 })
  const takeTurns = (worker: string, maxCrashes = 3) =>
    given.runs.takeOver({ ...options, worker, maxCrashes })
  const start = (leaseMillis = minute): Claimant => ({ worker: given.a, leaseMillis })
  return { ...given, claimTurns, start, takeTurns, turn: (by?: Claimant) => makeTurn(given.workspaceId, by) }
})

export const suite = (it: It) =>
  describe("RunRepo, turns", { concurrent: false }, () => {
    it.effect("keeps what a turn is asked, and reads it apart from the run, however that is read", () =>
      Effect.gen(function* () {
        const { claimTurns, find, runs, start, takeTurns, workspaceId } = yield* subject
        const { id: conversationId } = yield* makeConversation(workspaceId)
        const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
        const input = {
          ...plainInput,
          instructions: "Be brief.",
          messages: [{ role: "user", content: "é" }]
        } as const
        const asked = yield* newRun(workspaceId, { turn, input })
        const plain = yield* newRun(workspaceId, { turn })
        yield* runs.insert(asked)
        yield* runs.insert(plain)
        assert.deepStrictEqual(yield* runs.input(asked.id), Option.some(input))
        assert.deepStrictEqual(yield* runs.input(plain.id), Option.none())
        assert.deepStrictEqual(yield* runs.input("turn_none" as RunId), Option.none())
        const inputs = (found: ReadonlyArray<StoredRun>) =>
          [asked, plain].map(({ id }) => found.find((run) => run.id === id)?.input)
        assert.deepStrictEqual(inputs(yield* claimTurns("gone")), ["unread", null])
        assert.strictEqual((yield* find(asked.id)).input, "unread")
        yield* runs.release("gone", { kind: "turn", crashed: true, maxCrashes: 9 })
        assert.deepStrictEqual(inputs(yield* takeTurns("next", 9)), ["unread", null])
        assert.deepStrictEqual(yield* runs.input(asked.id), Option.some(input))
        const begun = yield* newRun(workspaceId, { turn, input })
        yield* runs.insert(begun, { ...start(), kind: "turn", perWorkspace: 1_000 })
        assert.deepStrictEqual(yield* runs.input(begun.id), Option.some(input))
        yield* (yield* ConversationRepo).remove(conversationId)
        assert.deepStrictEqual(yield* runs.input(asked.id), Option.none())
      })
    )

    it.effect("starts a turn at once, whatever runs in its workspace, and shows it in no list", () =>
      Effect.gen(function* () {
        const { claim, find, runs, start, turn, workspaceId, a } = yield* subject
        for (let n = 0; n < 3; n++) yield* makeRun(workspaceId)
        yield* claim(a, { perWorkspace: 2 })
        const { run } = yield* turn(start())
        assert.deepInclude(yield* find(run.id), { status: "RUNNING", attempts: 1, epoch: 1, turn: run.turn })
        const listed = yield* runs.list({ workspaceId, limit: 9, offset: 0 })
        assert.strictEqual(listed.total, 3)
        assert.isFalse(listed.runs.some(({ id }) => id === run.id))
      })
    )

    it.effect("counts turns for nothing when tasks are claimed or started", () =>
      Effect.gen(function* () {
        const { a, claim, runs, start, turn, workspaceId } = yield* subject
        for (let n = 0; n < 3; n++) yield* turn(start())
        yield* turn()
        const task = yield* newRun(workspaceId)
        assert.isTrue(yield* runs.insert(task, { ...start(), perWorkspace: 1 }))
        yield* runs.finish({ id: task.id, worker: a, epoch: 1 }, completed, times)
        const next = yield* makeRun(workspaceId)
        assert.deepStrictEqual(idsOf(yield* claim(a, { perWorkspace: 1 })), [next.id])
      })
    )

    it.effect("claims tasks and turns apart, turns oldest first", () =>
      Effect.gen(function* () {
        const { a, b, claim, claimTurns, turn, workspaceId } = yield* subject
        const first = yield* turn()
        const second = yield* turn()
        const task = yield* makeRun(workspaceId)
        assert.deepStrictEqual(idsOf(yield* claimTurns(a, 1)), [first.run.id])
        assert.deepStrictEqual(idsOf(yield* claim(a)), [task.id])
        const [claimed, ...rest] = yield* claimTurns(b)
        assert.deepStrictEqual(rest, [])
        assert.deepInclude(claimed, { id: second.run.id, status: "RUNNING", epoch: 1, turn: second.run.turn })
      })
    )

    it.effect("takes over and hands back tasks and turns apart", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, runs, start, status, takeOver, takeTurns, turn, workspaceId } = yield* subject
        const { run } = yield* turn(start(0))
        const task = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        assert.deepStrictEqual(idsOf(yield* takeOver(b)), [task.id])
        assert.deepStrictEqual(idsOf(yield* takeTurns(b)), [run.id])
        yield* runs.release(b, { kind: "turn", crashed: false, maxCrashes: 3 })
        assert.deepStrictEqual([yield* status(run.id), yield* status(task.id)], ["PENDING", "RUNNING"])
        yield* runs.release(b, { crashed: false, maxCrashes: 3 })
        assert.strictEqual(yield* status(task.id), "PENDING")
      })
    )

    it.effect("keeps the conversation of a turn that waits or runs", () =>
      Effect.gen(function* () {
        const { a, b, runs, start, takeTurns, turn } = yield* subject
        const running = yield* turn(start(0))
        assert.isFalse(yield* running.isFree)
        yield* takeTurns(b)
        assert.isFalse(yield* running.isFree)
        yield* runs.release(b, { crashed: true, maxCrashes: 9 })
        assert.isFalse(yield* running.isFree)
        assert.deepStrictEqual(idsOf(yield* takeTurns(a)), [running.run.id])
        assert.isFalse(yield* running.isFree)
      })
    )

    it.effect("frees the conversation with the end of its turn, however it ends", () =>
      Effect.gen(function* () {
        const { a, b, find, runs, start, takeTurns, turn } = yield* subject
        const approvals = yield* ApprovalRepo
        const [done, broken, cancelled, poison, released, expired] = [
          yield* turn(start()),
          yield* turn(start()),
          yield* turn(start()),
          yield* turn({ worker: b, leaseMillis: 0 }),
          yield* turn({ worker: `${a} gone`, leaseMillis: minute }),
          yield* turn(start())
        ]
        assert.isTrue(yield* runs.finish(done.execution, completed, times))
        assert.isTrue(yield* runs.finish(broken.execution, failed, times))
        assert.isTrue(yield* runs.cancel(cancelled.run.id, at()))
        yield* takeTurns(a, 1)
        yield* runs.release(`${a} gone`, { crashed: true, maxCrashes: 1 })
        const asked = {
          id: yield* newId<never>("approval"),
          workspaceId: expired.run.workspaceId,
          runId: expired.run.id,
          toolCallId: "call",
          tool: "t",
          connector: null,
          address: null,
          description: null,
          arguments: {},
          fingerprint: "f",
          status: "PENDING" as const,
          reason: null,
          decidedBy: null,
          decidedAt: null,
          createdAt: at(),
          expiresAt: new Date(0)
        }
        assert.isTrue(yield* approvals.park(expired.execution, [asked]))
        assert.isFalse(yield* expired.isFree)
        assert.include(yield* approvals.expire(1_000), expired.run.id)
        for (const { isFree } of [done, broken, cancelled, poison, released, expired]) {
          assert.isTrue(yield* isFree)
        }
        assert.deepStrictEqual(
          yield* Effect.forEach([broken, cancelled, poison, released, expired], ({ run }) =>
            Effect.map(find(run.id), ({ errorCode }) => errorCode)
          ),
          ["no", null, "worker_lost", "worker_lost", "approval_expired"]
        )
      })
    )

    it.effect("does not free a conversation for a turn that answers in it no more", () =>
      Effect.gen(function* () {
        const { runs, start, turn } = yield* subject
        const { execution, isFree, run } = yield* turn(start())
        yield* runs.finish(execution, completed, times)
        assert.isTrue(yield* isFree)
        yield* runs.finish(execution, completed, times)
        yield* runs.cancel(run.id, at())
        assert.isFalse(yield* isFree)
      })
    )

    it.effect("goes with its conversation, whoever executes it", () =>
      Effect.gen(function* () {
        const { runs, start, turn } = yield* subject
        const conversations = yield* ConversationRepo
        const { conversationId, execution, run } = yield* turn(start())
        assert.deepStrictEqual(yield* conversations.remove(conversationId), Option.some({ turnId: run.id }))
        assert.deepStrictEqual(yield* runs.find(run.id), Option.none())
        assert.isFalse(yield* runs.finish(execution, completed, times))
        assert.deepStrictEqual(
          yield* runs.renew(execution.worker, [execution], minute),
          renewal([], [run.id])
        )
      })
    )

    it.effect("forgets old runs in steps: events, then journals, and turns altogether", () =>
      Effect.gen(function* () {
        const { a, claimOne, find, runs, start, turn, workspaceId } = yield* subject
        const turned = yield* turn(start())
        yield* runs.finish(turned.execution, completed, { ...times, at: at(-5_000) })
        const task = yield* makeRun(workspaceId)
        yield* runs.finish(executionOf(a, yield* claimOne(a)), completed, { ...times, at: at(-5_000) })
        const active = yield* turn(start())
        const prune = (journalsBefore: Date) =>
          runs.prune({ eventsBefore: at(-4_000), journalsBefore, limit: 1_000 })
        yield* prune(at(-6_000))
        assert.deepInclude(yield* find(turned.run.id), { status: "COMPLETED" })
        yield* prune(at(-4_000))
        assert.deepStrictEqual(yield* runs.find(turned.run.id), Option.none())
        assert.deepInclude(yield* find(task.id), { status: "COMPLETED", output: "Done" })
        assert.deepInclude(yield* find(active.run.id), { status: "RUNNING" })
        assert.strictEqual(yield* prune(at(-4_000)), 0)
      })
    )
  })
