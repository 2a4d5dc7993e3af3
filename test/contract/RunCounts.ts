import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ApprovalId } from "../../src/Schemas/Ids.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { type RunCount, RunCounts } from "../../src/Services/RunCounts.ts"
import type { It } from "../support/Backends.ts"
import { makeApproval, makeRun, makeWorkspace, newId, newRun } from "../support/Fixtures.ts"
import { completed, executionOf, minute, subject, sweep, times } from "./RunSubject.ts"
import { makeTurn } from "./RunTurns.ts"

const hours = (count: number) => new Date(Date.now() - count * 60 * minute)

const change = (before: RunCount, after: RunCount) => ({
  waiting: after.waiting - before.waiting,
  running: after.running - before.running,
  parked: after.parked - before.parked
})

export const suite = (it: It) =>
  describe("RunCounts", { concurrent: false }, () => {
    it.effect("counts what is not over, by kind and state, over all workspaces", () =>
      Effect.gen(function* () {
        const { read } = yield* RunCounts
        const { a, claimOne, runs, workspaceId } = yield* subject
        const before = yield* read
        const ended = yield* makeRun(workspaceId)
        assert.isTrue(yield* runs.finish(executionOf(a, yield* claimOne(a)), completed, times))
        yield* makeRun(workspaceId)
        yield* claimOne(a)
        for (const id of [workspaceId, workspaceId, yield* makeWorkspace]) yield* makeRun(id)
        const cancelled = yield* makeRun(workspaceId)
        assert.isTrue(yield* runs.cancel(cancelled.id, ended.createdAt))
        yield* makeTurn(yield* makeWorkspace)
        yield* makeTurn(workspaceId, { worker: a, leaseMillis: minute })
        const parked = yield* makeApproval(yield* makeWorkspace)
        // A run that waits for two decisions is one run.
        const worker = yield* newId<string>("run")
        const asking = yield* newRun(yield* makeWorkspace)
        assert.isTrue(yield* runs.insert(asking, { worker, leaseMillis: minute, perWorkspace: 9 }))
        const asked = { ...parked, workspaceId: asking.workspaceId, runId: asking.id }
        const two = [
          { ...asked, id: yield* newId<ApprovalId>("approval") },
          { ...asked, id: yield* newId<ApprovalId>("approval"), toolCallId: "call_2" }
        ]
        assert.isTrue(yield* (yield* ApprovalRepo).park({ id: asking.id, worker, epoch: 1 }, two))
        const after = yield* read
        assert.deepStrictEqual(change(before.task, after.task), { waiting: 3, running: 1, parked: 2 })
        assert.deepStrictEqual(change(before.turn, after.turn), { waiting: 1, running: 1, parked: 0 })
        assert.isTrue(yield* runs.cancel(parked.runId, ended.createdAt))
        assert.deepStrictEqual(change(after.task, (yield* read).task), { waiting: 0, running: 0, parked: -1 })
      })
    )

    it.effect("says how old the oldest is that waits, and 0 where none does", () =>
      Effect.gen(function* () {
        const { read } = yield* RunCounts
        const { claim, runs, workspaceId } = yield* subject
        const claimTurns = runs.claim({
          worker: "w",
          kind: "turn",
          limit: 1_000,
          leaseMillis: minute,
          perWorkspace: 1_000
        })
        yield* claimTurns
        yield* sweep("turn")
        const idle = yield* read
        assert.deepStrictEqual([idle.task.oldestWaitingSeconds, idle.turn.oldestWaitingSeconds], [0, 0])
        const other = yield* makeWorkspace
        yield* makeRun(workspaceId, { createdAt: hours(1), updatedAt: hours(1) })
        yield* makeRun(other, { createdAt: hours(3), updatedAt: hours(3) })
        yield* makeRun(other, { createdAt: hours(2), updatedAt: hours(2) })
        yield* makeTurn(yield* makeWorkspace)
        const { task, turn } = yield* read
        assert.strictEqual(Math.floor(task.oldestWaitingSeconds / 3600), 3)
        assert.isAbove(turn.oldestWaitingSeconds, 0)
        yield* claim("w")
        yield* claimTurns
        yield* makeRun(workspaceId, { createdAt: hours(-1), updatedAt: hours(-1) })
        const later = yield* read
        assert.deepStrictEqual([later.task.oldestWaitingSeconds, later.turn.oldestWaitingSeconds], [0, 0])
        yield* claim("w")
      })
    )
  })
