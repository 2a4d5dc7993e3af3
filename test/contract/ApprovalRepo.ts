import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredApproval } from "../../src/Schemas/Approval.ts"
import { notDecided } from "../../src/Schemas/Approval.ts"
import type { ApprovalId, ConnectorId, RunId } from "../../src/Schemas/Ids.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeApproval,
  makeRun,
  makeUser,
  makeWorkspace,
  newId,
  newRun,
  unicode
} from "../support/Fixtures.ts"

const subject = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const runs = yield* RunRepo
  const workspaceId = yield* makeWorkspace
  const { id: decidedBy } = yield* makeUser
  const statusOf = (id: RunId) => Effect.map(runs.find(id), (run) => Option.getOrThrow(run).status)
  const found = (id: ApprovalId) => Effect.map(approvals.find(id), Option.getOrThrow)
  const decide = (id: ApprovalId, status: "APPROVED" | "REJECTED", reason: string | null = null) =>
    approvals.decide(id, { status, reason, decidedBy, decidedAt: at(5) })
  const waiting = Effect.map(approvals.waiting({ workspaceId, limit: 100, offset: 0 }), (all) =>
    all.map(({ id }) => id)
  )
  return { approvals, decide, decidedBy, found, runs, statusOf, waiting, workspaceId }
})

/** A second call of the same run. */
const another = Effect.fnUntraced(function* (first: StoredApproval) {
  return { ...first, id: yield* newId<ApprovalId>("approval"), toolCallId: "call_2", createdAt: at(1) }
})

export const suite = (it: It) =>
  describe("ApprovalRepo", () => {
    it.effect("parks a run: it waits, nobody owns it, and what it waits for is there", () =>
      Effect.gen(function* () {
        const { approvals, found, runs, statusOf, waiting, workspaceId } = yield* subject
        const approval = yield* makeApproval(workspaceId)
        assert.deepStrictEqual(yield* found(approval.id), approval)
        assert.deepStrictEqual(yield* approvals.ofRun(approval.runId), [approval])
        assert.deepStrictEqual(yield* waiting, [approval.id])
        assert.strictEqual(yield* statusOf(approval.runId), "WAITING_APPROVAL")
        const claimed = yield* runs.claim({ worker: "w", leaseMillis: 1, limit: 1000, perWorkspace: 1000 })
        assert.notInclude(
          claimed.map(({ id }) => id),
          approval.runId
        )
        assert.isTrue(Option.isNone(yield* approvals.find(yield* newId<ApprovalId>("approval"))))
      })
    )

    it.effect("keeps what people are shown of a call, and a call without arguments", () =>
      Effect.gen(function* () {
        const { approvals, found, workspaceId } = yield* subject
        const shown = yield* makeApproval(workspaceId, {
          connector: { id: yield* newId<ConnectorId>("connector"), name: unicode },
          address: "https://example.org/mcp?key=…",
          description: unicode,
          arguments: { [unicode]: [null, 1e-7, { b: 1, a: 2 }] }
        })
        const bare = yield* makeApproval(workspaceId, { arguments: null })
        assert.deepStrictEqual(yield* found(shown.id), shown)
        assert.deepStrictEqual(yield* found(bare.id), bare)
        assert.deepStrictEqual(yield* approvals.ofRun(bare.runId), [bare])
        assert.deepStrictEqual(yield* approvals.waiting({ workspaceId, limit: 9, offset: 0 }), [shown, bare])
      })
    )

    it.effect("parks once, only for the latest execution, and says again that it has", () =>
      Effect.gen(function* () {
        const { approvals, runs, statusOf, workspaceId } = yield* subject
        const run = yield* newRun(workspaceId)
        const worker = `w ${run.id}`
        yield* runs.insert(run, { worker, leaseMillis: 60_000, perWorkspace: 10 })
        const approval = { ...(yield* makeApproval(workspaceId)), runId: run.id }
        const asked = [{ ...approval, id: yield* newId<ApprovalId>("approval") }]
        assert.isFalse(yield* approvals.park({ id: run.id, worker, epoch: 2 }, asked))
        assert.isFalse(yield* approvals.park({ id: run.id, worker: "other", epoch: 1 }, asked))
        assert.strictEqual(yield* statusOf(run.id), "RUNNING")
        assert.isTrue(yield* approvals.park({ id: run.id, worker, epoch: 1 }, asked))
        assert.isTrue(yield* approvals.park({ id: run.id, worker, epoch: 1 }, asked))
        assert.deepStrictEqual(yield* approvals.ofRun(run.id), asked)
      })
    )

    it.effect("asks about a call once, also when a later execution parks with it", () =>
      Effect.gen(function* () {
        const { approvals, decide, found, runs, statusOf, workspaceId } = yield* subject
        const first = yield* makeApproval(workspaceId)
        yield* decide(first.id, "APPROVED")
        const decided = yield* found(first.id)
        yield* runs.claim({ worker: "again", leaseMillis: 60_000, limit: 1_000, perWorkspace: 1_000 })
        const second = yield* another(first)
        const asked = [{ ...first, id: yield* newId<ApprovalId>("approval") }, second]
        assert.isTrue(yield* approvals.park({ id: first.runId, worker: "again", epoch: 2 }, asked))
        assert.strictEqual(yield* statusOf(first.runId), "WAITING_APPROVAL")
        assert.deepStrictEqual(yield* approvals.ofRun(first.runId), [decided, second])
      })
    )

    it.effect("takes the first decision alone, and lets the run go on", () =>
      Effect.gen(function* () {
        const { decide, decidedBy, found, runs, statusOf, waiting, workspaceId } = yield* subject
        const approval = yield* makeApproval(workspaceId)
        assert.isTrue(yield* decide(approval.id, "REJECTED", "too dear"))
        assert.isFalse(yield* decide(approval.id, "APPROVED"))
        assert.deepStrictEqual(yield* found(approval.id), {
          ...approval,
          status: "REJECTED",
          reason: "too dear",
          decidedBy,
          decidedAt: at(5)
        })
        assert.strictEqual(yield* statusOf(approval.runId), "PENDING")
        assert.deepStrictEqual(yield* waiting, [])
        assert.strictEqual(Option.getOrThrow(yield* runs.find(approval.runId)).attempts, 0)
      })
    )

    it.effect("gives one of many decisions at the same time the right", () =>
      Effect.gen(function* () {
        const { decide, workspaceId } = yield* subject
        const approval = yield* makeApproval(workspaceId)
        const won = yield* Effect.forEach(Array.from({ length: 10 }), () => decide(approval.id, "APPROVED"), {
          concurrency: "unbounded"
        })
        assert.strictEqual(won.filter(Boolean).length, 1)
      })
    )

    it.effect("lets a run wait until all of its calls are decided, also when that happens at once", () =>
      Effect.gen(function* () {
        const { approvals, decide, runs, statusOf, workspaceId } = yield* subject
        const run = yield* newRun(workspaceId)
        const worker = `w ${run.id}`
        yield* runs.insert(run, { worker, leaseMillis: 60_000, perWorkspace: 10 })
        const first = {
          ...(yield* makeApproval(workspaceId)),
          id: yield* newId<ApprovalId>("approval"),
          runId: run.id
        }
        const second = yield* another(first)
        yield* approvals.park({ id: run.id, worker, epoch: 1 }, [first, second])
        assert.isTrue(yield* decide(first.id, "APPROVED"))
        assert.strictEqual(yield* statusOf(run.id), "WAITING_APPROVAL")
        const third = yield* Effect.all([decide(second.id, "APPROVED"), decide(first.id, "REJECTED")], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(third, [true, false])
        assert.strictEqual(yield* statusOf(run.id), "PENDING")
      })
    )

    it.effect("decides nothing of a run that no longer waits", () =>
      Effect.gen(function* () {
        const { decide, found, runs, waiting, workspaceId } = yield* subject
        const approval = yield* makeApproval(workspaceId)
        assert.isTrue(yield* runs.cancel(approval.runId, at(3)))
        assert.isFalse(yield* decide(approval.id, "APPROVED"))
        assert.strictEqual((yield* found(approval.id)).status, "EXPIRED")
        assert.deepStrictEqual(yield* waiting, [])
      })
    )

    it.effect("ends runs that nobody decided about in time", () =>
      Effect.gen(function* () {
        const { approvals, decide, found, runs, workspaceId } = yield* subject
        const late = yield* makeApproval(workspaceId, { expiresAt: at() })
        const early = yield* makeApproval(workspaceId)
        assert.isFalse(yield* decide(late.id, "APPROVED"))
        const ended = yield* approvals.expire(1000)
        assert.include(ended, late.runId)
        assert.notInclude(ended, early.runId)
        assert.strictEqual((yield* found(late.id)).status, "EXPIRED")
        assert.deepInclude(Option.getOrThrow(yield* runs.find(late.runId)), {
          status: "FAILED",
          error: notDecided
        })
        assert.strictEqual((yield* found(early.id)).status, "PENDING")
      })
    )

    it.effect("lists the oldest first, in pages, of one workspace", () =>
      Effect.gen(function* () {
        const { approvals, waiting, workspaceId } = yield* subject
        const two = yield* makeApproval(workspaceId, { createdAt: at(2) })
        const one = yield* makeApproval(workspaceId, { createdAt: at(1) })
        yield* makeApproval(yield* makeWorkspace)
        yield* makeRun(workspaceId)
        assert.deepStrictEqual(yield* waiting, [one.id, two.id])
        const page = yield* approvals.waiting({ workspaceId, limit: 1, offset: 1 })
        assert.deepStrictEqual(page, [two])
      })
    )
  })
