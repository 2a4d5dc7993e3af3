import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import type { KeptExecution } from "../../src/Schemas/RunTimes.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import type { It } from "../support/Backends.ts"
import { at, makeApproval, makeRun, makeUser, newId, unicode } from "../support/Fixtures.ts"
import { completed, executionOf, failed, minute, subject as ofRuns, times } from "./RunSubject.ts"

const answeredBy = { provider: "openai", model: unicode, providerKeyId: null }
const usage = { inputTokens: 3, outputTokens: 4, cachedInputTokens: 2 }
const answer: JournalStep = {
  type: "model",
  text: unicode,
  toolCalls: [{ id: "call_1", name: "read", arguments: { path: unicode } }],
  usage,
  costNanos: 12,
  answeredBy
}
const cut: JournalStep = {
  type: "model",
  text: "Once",
  toolCalls: [],
  usage: { inputTokens: 1, outputTokens: 0 }
}
const tool: JournalStep = {
  type: "tool",
  result: { id: "call_1", name: "read", result: { deep: [unicode, null] }, isError: true, durationMs: 12 }
}

const subject = Effect.gen(function* () {
  const given = yield* ofRuns
  const journal = yield* RunJournal
  const approvals = yield* ApprovalRepo
  /** Why it was executed again, and whether it has begun by now; each in order of time. */
  const causes = (id: RunId) =>
    Effect.map(journal.times(id), ({ executions }) =>
      executions.map(({ begunAt, cause, epoch, waitedSince }) => {
        if (begunAt !== null) assert.isAtLeast(begunAt.getTime(), waitedSince.getTime())
        return [epoch, cause, begunAt !== null] as const
      })
    )
  return { ...given, approvals, causes, journal }
})

/** Of what was taken over: what other tests left may be among it. */
const takenOf = (id: RunId, taken: ReadonlyArray<StoredRun>) =>
  taken.find((run) => run.id === id) ?? assert.fail("it was not taken over")
const lastOf = (executions: ReadonlyArray<KeptExecution>) => executions.at(-1) ?? assert.fail("none is kept")

export const suite = (it: It) =>
  describe("RunJournal, times", { concurrent: false }, () => {
    it.effect("says of each step when it was kept and by which execution, without its texts", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, journal, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        assert.deepStrictEqual(yield* journal.times(id), { steps: [], executions: [] })
        const before = Date.now()
        const first = executionOf(a, yield* claimOne(a, 0))
        yield* journal.record(first, 0, answer)
        yield* journal.record(first, 1, tool)
        const second = executionOf(b, takenOf(id, yield* takeOver(b)))
        assert.isTrue(yield* journal.record(second, 2, { ...cut, truncated: unicode }))
        const { steps } = yield* journal.times(id)
        assert.deepStrictEqual(
          steps.map(({ at: _, ...step }) => step),
          [
            {
              index: 0,
              epoch: 1,
              step: { type: "model", usage, costNanos: 12, answeredBy, truncated: null }
            },
            {
              index: 1,
              epoch: 1,
              step: { type: "tool", id: "call_1", name: "read", isError: true, durationMs: 12 }
            },
            {
              index: 2,
              epoch: 2,
              step: { type: "model", usage: cut.usage, costNanos: null, answeredBy: null, truncated: unicode }
            }
          ]
        )
        for (const step of steps) assert.closeTo(step.at.getTime(), before, minute)
        assert.deepStrictEqual(yield* journal.times(yield* newId<RunId>("run")), {
          steps: [],
          executions: []
        })
      })
    )

    it.effect("keeps nothing of a run that is executed once", () =>
      Effect.gen(function* () {
        const { a, causes, claimOne, runs, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        const execution = executionOf(a, yield* claimOne(a))
        yield* runs.renew(a, [execution], minute)
        yield* runs.finish(execution, completed, times)
        assert.deepStrictEqual(yield* causes(id), [])
      })
    )

    it.effect("keeps since when nobody had a run that another takes over", () =>
      Effect.gen(function* () {
        const { a, b, causes, claimOne, journal, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        yield* takeOver(b, { leaseMillis: 0 })
        yield* takeOver(b, { leaseMillis: 0 })
        assert.deepStrictEqual(yield* causes(id), [
          [2, "takeover", true],
          [3, "takeover", true]
        ])
        const { executions } = yield* journal.times(id)
        for (const { waitedSince } of executions) assert.closeTo(waitedSince.getTime(), Date.now(), minute)
      })
    )

    it.effect("keeps that a stopping node handed it back, and when another began", () =>
      Effect.gen(function* () {
        const { a, b, causes, claimOne, runs, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        const { epoch } = yield* claimOne(a)
        yield* runs.release(a, { executions: [{ id, epoch }], crashed: false, maxCrashes: 3 })
        assert.deepStrictEqual(yield* causes(id), [[2, "handed_back", false]])
        yield* claimOne(b)
        assert.deepStrictEqual(yield* causes(id), [[2, "handed_back", true]])
      })
    )

    it.effect("keeps when the last approval was decided that it waited for", () =>
      Effect.gen(function* () {
        const { approvals, b, causes, claim, workspaceId } = yield* subject
        const { id, runId } = yield* makeApproval(workspaceId)
        assert.deepStrictEqual(yield* causes(runId), [])
        const decidedBy = (yield* makeUser).id
        const decision = { status: "APPROVED", reason: null, decidedBy, decidedAt: at(5) } as const
        assert.isTrue(yield* approvals.decide(id, decision))
        assert.deepStrictEqual(yield* causes(runId), [[2, "approval", false]])
        yield* claim(b)
        assert.deepStrictEqual(yield* causes(runId), [[2, "approval", true]])
      })
    )

    it.effect("keeps that it was retried, each time, also one that had never begun", () =>
      Effect.gen(function* () {
        const { a, causes, claimOne, find, journal, runs, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* runs.cancel(id, at(60))
        yield* runs.retry(id, at(70))
        yield* runs.cancel(id, at(80))
        yield* runs.retry(id, at(90))
        assert.deepStrictEqual(yield* causes(id), [
          [2, "retry", false],
          [3, "retry", false]
        ])
        const begun = yield* claimOne(a)
        const { executions } = yield* journal.times(id)
        assert.deepStrictEqual(lastOf(executions).begunAt, (yield* find(id)).startedAt, "its first")
        yield* runs.finish(executionOf(a, begun), failed, times)
        yield* runs.retry(id, at(100))
        yield* claimOne(a)
        assert.deepStrictEqual(yield* causes(id), [
          [2, "retry", false],
          [3, "retry", true],
          [5, "retry", true]
        ])
      })
    )

    it.effect("keeps before when it was not to begin, once it is due", () =>
      Effect.gen(function* () {
        const { a, causes, claimOne, journal, runs, workspaceId } = yield* subject
        while ((yield* runs.makeDue(1_000)) > 0) {}
        yield* runs.claim({ worker: "sweeper", limit: 10_000, leaseMillis: minute, perWorkspace: 10_000 })
        const notBefore = new Date(Date.now() - 2_000)
        const { id } = yield* makeRun(workspaceId, { notBefore })
        assert.deepStrictEqual(yield* causes(id), [])
        yield* runs.makeDue(1)
        yield* claimOne(a)
        const { executions } = yield* journal.times(id)
        assert.deepStrictEqual(executions, [
          { epoch: 1, cause: "scheduled", waitedSince: notBefore, begunAt: null }
        ])
      })
    )

    it.effect("forgets it with the journal", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, journal, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* claimOne(a, 0)
        const execution = executionOf(b, takenOf(id, yield* takeOver(b)))
        yield* journal.record(execution, 0, answer)
        const ended = at(-2_000 * 24 * 60 * minute)
        yield* runs.finish(execution, completed, { ...times, at: ended })
        const [eventsBefore, journalsBefore] = [at(-1_999 * 24 * 60 * minute), at(-1_999 * 24 * 60 * minute)]
        while ((yield* runs.prune({ eventsBefore, journalsBefore, limit: 1_000 })) > 0) {}
        assert.deepStrictEqual(yield* journal.times(id), { steps: [], executions: [] })
      })
    )
  })
