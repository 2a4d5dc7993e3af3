import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { MessageId, RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import type { It } from "../support/Backends.ts"
import { at, makeApproval, makeConversation, makeRun, newId, newRun } from "../support/Fixtures.ts"
import { completed, executionOf, makeRuns, minute, subject as ofRuns, times } from "./RunSubject.ts"

const step: JournalStep = { type: "model", text: "kept", toolCalls: [], usage: noUsage }
const event = { id: 1, event: { event: "status", data: { status: "responding", delta: "told" } } } as const
const day = 24 * 60 * minute
/** Older than what other suites leave behind. */
const ended = at(-1_000 * day)

/** Runs that ended long ago; what other tests left at that time is out of the way. */
const subject = Effect.gen(function* () {
  const given = yield* ofRuns
  const [approvals, events, journal] = [yield* ApprovalRepo, yield* RunEventRepo, yield* RunJournal]
  const { a, runs } = given
  const since = (millis: number) => new Date(ended.getTime() + millis)
  const prune = (events: number, journals: number, limit = 1_000, whole?: number) =>
    runs.prune({
      eventsBefore: since(events),
      journalsBefore: since(journals),
      ...(whole !== undefined && { runsBefore: since(whole) }),
      limit
    })
  while ((yield* prune(1, 1, 1_000, 1)) > 0);
  const end = Effect.fnUntraced(function* (run: Pick<StoredRun, "epoch" | "id">) {
    const execution = executionOf(a, run)
    assert.isTrue(yield* journal.record(execution, 0, step, [[event]]))
    assert.isTrue(yield* runs.finish(execution, completed, { ...times, at: ended }))
  })
  const endedTask = Effect.gen(function* () {
    yield* makeRun(given.workspaceId)
    const run = yield* given.claimOne(a)
    yield* end(run)
    return run
  })
  const endedTurn = Effect.gen(function* () {
    const { id: conversationId } = yield* makeConversation(given.workspaceId)
    const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
    const run = yield* newRun(given.workspaceId, { turn })
    yield* runs.insert(run, { worker: a, leaseMillis: minute, perWorkspace: 1_000 })
    yield* end({ ...run, epoch: 1 })
    return run
  })
  /** What is kept of a run: events, steps, approvals, and itself. */
  const kept = Effect.fnUntraced(function* ({ id }: { readonly id: RunId }) {
    return [
      (yield* events.read(id, 0, 9)).length,
      (yield* journal.steps(id)).size,
      (yield* approvals.ofRun(id)).length,
      Option.isSome(yield* runs.find(id))
    ]
  })
  return { ...given, approvals, end, endedTask, endedTurn, kept, prune }
})

export const suite = (it: It) =>
  describe("RunRepo, prune", { concurrent: false }, () => {
    it.effect("keeps turns and journals until their own time, however often it is asked", () =>
      Effect.gen(function* () {
        const { endedTask, endedTurn, kept, prune } = yield* subject
        const [task, turn] = [yield* endedTask, yield* endedTurn]
        assert.strictEqual(yield* prune(0, 0), 0, "what ended at that very moment")
        assert.strictEqual(yield* prune(1, -day), 2)
        for (let again = 0; again < 3; again++) assert.strictEqual(yield* prune(1, 0), 0)
        assert.deepStrictEqual(yield* kept(task), [0, 1, 0, true])
        assert.deepStrictEqual(yield* kept(turn), [0, 1, 0, true])
        assert.strictEqual(yield* prune(1, 1), 2)
        assert.deepStrictEqual(yield* kept(task), [0, 0, 0, true])
        assert.deepStrictEqual(yield* kept(turn), [0, 0, 0, false])
        assert.strictEqual(yield* prune(1, 1), 0)
      })
    )

    it.effect("forgets the events first, also when all of it is due", () =>
      Effect.gen(function* () {
        const { endedTask, kept, prune } = yield* subject
        const task = yield* endedTask
        assert.strictEqual(yield* prune(1, 1), 1)
        assert.deepStrictEqual(yield* kept(task), [0, 1, 0, true])
        assert.strictEqual(yield* prune(1, 1), 1)
        assert.deepStrictEqual(yield* kept(task), [0, 0, 0, true])
      })
    )

    it.effect("forgets up to the limit of either, and says of how many", () =>
      Effect.gen(function* () {
        const { a, claim, end, prune, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 5)
        for (const run of yield* claim(a)) yield* end(run)
        assert.strictEqual(yield* prune(1, -day, 2), 2)
        assert.strictEqual(yield* prune(1, 1, 2), 4)
        assert.strictEqual(yield* prune(1, 1, 2), 3)
        assert.strictEqual(yield* prune(1, 1, 2), 1)
        assert.strictEqual(yield* prune(1, 1, 2), 0)
      })
    )

    it.effect("forgets what a run asked people with its journal, and nothing of others", () =>
      Effect.gen(function* () {
        const { approvals, kept, prune, runs, workspaceId } = yield* subject
        const asked = yield* makeApproval(workspaceId)
        const waiting = yield* makeApproval(workspaceId)
        yield* runs.cancel(asked.runId, ended)
        yield* prune(1, 0)
        assert.strictEqual((yield* approvals.ofRun(asked.runId)).length, 1)
        yield* prune(1, 1)
        assert.deepStrictEqual(yield* kept({ id: asked.runId }), [0, 0, 0, true])
        assert.deepStrictEqual(yield* kept({ id: waiting.runId }), [0, 0, 1, true])
      })
    )

    it.effect("forgets runs altogether from their own time on, whatever there still is of them", () =>
      Effect.gen(function* () {
        const { endedTask, endedTurn, kept, prune, runs, workspaceId } = yield* subject
        const page = { workspaceId, limit: 10, offset: 0 }
        const [bare, journal] = [yield* endedTask, yield* endedTask]
        yield* prune(1, -day)
        yield* prune(1, 1)
        const [whole, turn] = [yield* endedTask, yield* endedTurn]
        assert.strictEqual(yield* prune(0, 0, 1_000, 0), 0, "what ended at that very moment")
        assert.strictEqual((yield* runs.list(page)).total, 3)
        assert.strictEqual(yield* prune(-day, -day, 1_000, 1), 4)
        const events = yield* RunEventRepo
        for (const run of [bare, journal, whole, turn]) {
          assert.deepStrictEqual(yield* kept(run), [0, 0, 0, false])
          assert.isFalse((yield* events.glance([run.id])).has(run.id))
          assert.isFalse(yield* runs.cancel(run.id, at()))
        }
        assert.deepStrictEqual(yield* runs.list(page), { runs: [], next: null, total: 0 })
        assert.strictEqual(yield* prune(1, 1, 1_000, 1), 0)
      })
    )

    it.effect("forgets no run that is not over, however old it is", () =>
      Effect.gen(function* () {
        const { a, approvals, claimOne, kept, prune, runs, workspaceId } = yield* subject
        yield* makeRun(workspaceId, { createdAt: at(-2_000 * day) })
        const running = yield* claimOne(a)
        const waiting = yield* makeApproval(workspaceId)
        const pending = yield* makeRun(workspaceId, { createdAt: at(-2_000 * day) })
        yield* prune(2 * day, 2 * day, 1_000, 2 * day)
        for (const { id } of [running, pending]) {
          assert.deepStrictEqual(yield* kept({ id }), [0, 0, 0, true])
        }
        assert.deepStrictEqual(yield* kept({ id: waiting.runId }), [0, 0, 1, true])
        assert.strictEqual((yield* approvals.ofRun(waiting.runId)).length, 1)
        assert.strictEqual((yield* runs.list({ workspaceId, limit: 10, offset: 0 })).total, 3)
      })
    )

    it.effect("forgets up to the limit of runs of each kind of rest, the oldest first", () =>
      Effect.gen(function* () {
        const { a, claim, end, prune, runs, workspaceId } = yield* subject
        yield* makeRuns(workspaceId, 5)
        for (const run of yield* claim(a)) yield* end(run)
        assert.strictEqual(yield* prune(-day, -day, 2, 1), 2)
        assert.strictEqual((yield* runs.list({ workspaceId, limit: 10, offset: 0 })).total, 3)
        assert.strictEqual(yield* prune(1, -day, 2), 2)
        assert.strictEqual(yield* prune(-day, -day, 2, 1), 3, "one with its events, two without")
      })
    )
  })
