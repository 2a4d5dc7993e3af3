import { assert, describe, it } from "@effect/vitest"
import type { StoredApproval } from "../../src/Schemas/Approval.ts"
import type { ApprovalId, RunId, UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { newRun, type StoredRun } from "../../src/Schemas/Run.ts"
import { toRunTimeline } from "../../src/Schemas/RunTimeline.ts"
import { executionNoted, type KeptExecution, type TimedStep } from "../../src/Schemas/RunTimes.ts"

const at = (millis: number) => new Date(1_800_000_000_000 + millis)
const pending: StoredRun = newRun({
  id: "run_1" as RunId,
  workspaceId: "ws_1" as WorkspaceId,
  prompt: "Do it",
  createdAt: at(0)
})
const over: StoredRun = {
  ...pending,
  status: "COMPLETED",
  epoch: 1,
  attempts: 1,
  startedAt: at(10),
  finishedAt: at(900)
}
const answeredBy = { provider: "openai", model: "gpt-5", providerKeyId: null }
const answer = (index: number, epoch: number, millis: number): TimedStep => ({
  index,
  epoch,
  at: at(millis),
  step: {
    type: "model",
    usage: { inputTokens: 3, outputTokens: 4 },
    costNanos: 2_000_000_000,
    answeredBy: index === 0 ? answeredBy : null,
    truncated: null
  }
})
const call = (index: number, epoch: number, millis: number, durationMs: number): TimedStep => ({
  index,
  epoch,
  at: at(millis),
  step: { type: "tool", id: `call_${index}`, name: "read", isError: false, durationMs }
})
const approval = (given: Partial<StoredApproval> = {}): StoredApproval => ({
  id: "appr_1" as ApprovalId,
  workspaceId: pending.workspaceId,
  runId: pending.id,
  toolCallId: "call_1",
  tool: "remember",
  connector: null,
  address: null,
  description: null,
  arguments: {},
  fingerprint: "f",
  status: "APPROVED",
  reason: "fine",
  decidedBy: "user_1" as UserId,
  decidedAt: at(400),
  createdAt: at(200),
  expiresAt: at(10_000),
  ...given
})

const timeline = (given: Partial<Parameters<typeof toRunTimeline>[0]>) =>
  toRunTimeline({ run: over, steps: [], executions: [], approvals: [], ...given })
/** Of each span its type, and from when until when. */
const shape = (told: ReturnType<typeof timeline>) =>
  told.spans.map(({ endedAt, startedAt, type }) => [
    type,
    startedAt && startedAt.getTime() - at(0).getTime(),
    endedAt && endedAt.getTime() - at(0).getTime()
  ])

describe("toRunTimeline", () => {
  it("tells a run of one execution: waiting, answers, and calls that were made together", () => {
    const told = timeline({
      steps: [answer(0, 1, 100), call(1, 1, 300, 150), call(2, 1, 250, 100), answer(3, 1, 500)]
    })
    assert.deepStrictEqual(shape(told), [
      ["queued", 0, 10],
      ["model", 10, 100],
      ["tool", 150, 250],
      ["tool", 150, 300],
      ["model", 300, 500]
    ])
    assert.deepStrictEqual(told.executions, [{ epoch: 1, startedAt: at(10), cause: "start" }])
    assert.deepInclude(told.spans[1], {
      index: 0,
      inputTokens: 3,
      cachedInputTokens: 0,
      costUsd: 2,
      provider: "openai",
      model: "gpt-5"
    })
    assert.deepInclude(told.spans[4], { provider: "openai", model: "gpt-5" }, "as the first of its execution")
  })

  it("tells of a run that waits that it does, and of one that is not due when it will", () => {
    assert.deepStrictEqual(shape(timeline({ run: pending })), [["queued", 0, null]])
    const later = timeline({ run: { ...pending, notBefore: at(60_000) } })
    assert.deepStrictEqual([later.runAt, later.spans, later.executions], [at(60_000), [], []])
    const due: KeptExecution = { epoch: 1, cause: "scheduled", waitedSince: at(5), begunAt: null }
    const begun = timeline({ executions: [due] })
    assert.deepStrictEqual(begun.runAt, at(5))
    assert.deepStrictEqual(shape(begun), [["queued", 5, 10]])
    const cancelled: StoredRun = { ...pending, status: "CANCELLED", finishedAt: at(7) }
    assert.deepStrictEqual(shape(timeline({ run: cancelled })), [["queued", 0, 7]])
  })

  it("tells what was asked, and what it waited for behind the decision", () => {
    const told = timeline({
      run: { ...over, epoch: 2 },
      steps: [answer(0, 1, 100), call(1, 2, 460, 30)],
      executions: [{ epoch: 2, cause: "approval", waitedSince: at(400), begunAt: at(420) }],
      approvals: [approval()]
    })
    assert.deepStrictEqual(shape(told), [
      ["queued", 0, 10],
      ["model", 10, 100],
      ["approval", 200, 400],
      ["queued", 400, 420],
      ["tool", 430, 460]
    ])
    assert.deepInclude(told.spans[2], { status: "APPROVED", decidedBy: approval().decidedBy, reason: "fine" })
    const open = approval({ status: "PENDING", decidedAt: null, decidedBy: null })
    const waiting = timeline({
      run: { ...over, status: "WAITING_APPROVAL", finishedAt: null },
      approvals: [open]
    })
    assert.deepStrictEqual(shape(waiting)[1], ["approval", 200, null])
    const expired = timeline({ approvals: [{ ...open, status: "EXPIRED" }] })
    assert.deepStrictEqual(shape(expired)[1], ["approval", 200, 900], "with the run, at the latest")
  })

  it("tells that a node was lost, and that the next asked the model again", () => {
    const told = timeline({
      run: { ...over, epoch: 2 },
      steps: [answer(0, 1, 100), answer(1, 2, 700)],
      executions: [{ epoch: 2, cause: "takeover", waitedSince: at(300), begunAt: at(320) }]
    })
    assert.deepStrictEqual(shape(told), [
      ["queued", 0, 10],
      ["model", 10, 100],
      ["takeover", 300, 320],
      ["model", 320, 700]
    ])
    assert.deepStrictEqual(told.executions[1], { epoch: 2, startedAt: at(320), cause: "takeover" })
    assert.deepInclude(told.spans[3], { provider: null, model: null })
  })

  it("tells of a retry, also where it had never begun before, and leaves out what came to nothing", () => {
    const told = timeline({
      run: { ...over, epoch: 4, startedAt: at(90) },
      executions: [
        { epoch: 2, cause: "retry", waitedSince: at(50), begunAt: null },
        { epoch: 3, cause: "retry", waitedSince: at(80), begunAt: at(90) }
      ]
    })
    assert.deepStrictEqual(shape(told), [["queued", 80, 90]])
    assert.deepStrictEqual(told.executions, [{ epoch: 3, startedAt: at(90), cause: "retry" }])
    const waits: KeptExecution = { epoch: 3, cause: "retry", waitedSince: at(1_000), begunAt: null }
    const again = timeline({
      run: { ...over, epoch: 2, status: "PENDING", finishedAt: null },
      executions: [waits]
    })
    assert.deepStrictEqual(shape(again), [
      ["queued", 0, 10],
      ["queued", 1_000, null]
    ])
    const unbegun: StoredRun = { ...pending, epoch: 2 }
    assert.deepStrictEqual(shape(timeline({ run: unbegun, executions: [waits] })), [["queued", 1_000, null]])
  })

  it("tells of an execution nothing that it does not know, as of one that a version before has begun", () => {
    const told = timeline({ run: { ...over, epoch: 3 }, steps: [answer(0, 1, 100), answer(1, 3, 400)] })
    assert.deepStrictEqual(told.executions, [
      { epoch: 1, startedAt: at(10), cause: "start" },
      { epoch: 3, startedAt: null, cause: null }
    ])
    assert.deepStrictEqual(shape(told).at(-1), ["model", null, 400])
  })

  it("lets nothing end before it begins, whatever the clocks say", () => {
    const told = timeline({
      run: { ...over, startedAt: at(-50) },
      steps: [answer(0, 1, -60), call(1, 1, 20, 1_000)]
    })
    assert.deepStrictEqual(shape(told), [
      ["model", -60, -60],
      ["tool", -60, 20],
      ["queued", 0, 0]
    ])
  })

  it("says why it failed in a word, and nothing of a run whose journal is forgotten", () => {
    const failed: StoredRun = { ...over, status: "FAILED", errorCode: "worker_lost" }
    assert.deepInclude(timeline({ run: failed }), { errorCode: "worker_lost", status: "FAILED" })
    assert.deepStrictEqual(shape(timeline({ run: failed })), [["queued", 0, 10]])
  })
})

describe("executionNoted", () => {
  const noted = (before: Partial<StoredRun>, after: Partial<StoredRun>) =>
    executionNoted({ ...over, ...before }, { ...over, ...after }, { at: at(100), leaseEndedAt: at(90) })

  it("notes nothing of a first execution, and nothing of what does not change who has it", () => {
    assert.isUndefined(noted({ status: "PENDING", epoch: 0 }, { status: "RUNNING", epoch: 1 }))
    assert.isUndefined(noted({ status: "RUNNING" }, { status: "COMPLETED" }))
    assert.isUndefined(noted({ status: "RUNNING", epoch: 2 }, { status: "RUNNING", epoch: 2 }))
    assert.isUndefined(noted({ status: "PENDING" }, { status: "PENDING" }))
  })

  it("notes why it is to be executed again, and that it has begun", () => {
    const pending = { status: "PENDING", epoch: 2 } as const
    assert.deepInclude(noted({ status: "RUNNING" }, pending), {
      epoch: 3,
      cause: "handed_back",
      begunAt: null
    })
    assert.deepInclude(noted({ status: "FAILED" }, pending), { epoch: 3, cause: "retry" })
    assert.deepInclude(noted({ status: "WAITING_APPROVAL" }, pending), { cause: "approval" })
    assert.strictEqual(noted(pending, { status: "RUNNING", epoch: 3 }), "begun")
    assert.deepStrictEqual(noted({ status: "RUNNING" }, { status: "RUNNING", epoch: 2 }), {
      epoch: 2,
      cause: "takeover",
      waitedSince: at(90),
      begunAt: at(100)
    })
  })
})
