import { assert, describe, it } from "@effect/vitest"
import type { ConversationId, MessageId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { type StoredRun, unstarted } from "../../src/Schemas/Run.ts"
import {
  endIdOf,
  endOf,
  isEnd,
  isTold,
  nothingTold,
  type RunEvent,
  resumed,
  type Told,
  tell,
  voidFrom,
  withoutVoid
} from "../../src/Schemas/RunEvent.ts"

const thinking: RunEvent = { event: "status", data: { status: "thinking" } }
const says: RunEvent = { event: "status", data: { status: "responding", delta: "x" } }
const waits: RunEvent = {
  event: "status",
  data: { status: "waiting_approval", approvalId: "appr_1", toolCallId: "c1" }
}
const call = (id: string): RunEvent => ({ event: "tool_call", data: { id, name: "t", arguments: {} } })
const result = (id: string): RunEvent => ({
  event: "tool_result",
  data: { id, name: "t", result: null, isError: false, durationMs: 1 }
})
const having = (...events: ReadonlyArray<RunEvent>): Told =>
  events.reduce((state, event) => tell(state, { id: state.lastId + 1, event }), nothingTold)

describe("the events of a run", () => {
  it("knows where each answer begins, and what is void of those that are not finished", () => {
    const state = having(thinking, says, call("c1"), result("c1"), thinking, says, says)
    assert.deepStrictEqual(state.answers, [1, 5])
    assert.strictEqual(voidFrom(state, 2), undefined)
    assert.strictEqual(voidFrom(state, 1), 5)
    assert.strictEqual(voidFrom(state, 0), 1)
    assert.strictEqual(voidFrom(nothingTold, 0), undefined)
    const again = tell(withoutVoid(state, 1), { id: 1_000_001, event: thinking })
    assert.deepStrictEqual(again.answers, [1, 1_000_001])
    assert.strictEqual(voidFrom(again, 2), undefined)
  })

  it("tells of each call and each result once", () => {
    const state = having(thinking, call("c1"), call("c2"), result("c1"))
    assert.deepStrictEqual(
      [call("c1"), call("c2"), call("c3"), result("c1"), result("c2"), thinking, says].map((event) =>
        isTold(state, event)
      ),
      [true, true, false, true, false, false, false]
    )
  })

  it.each([
    ["nothing", nothingTold, 2, 1_000_000],
    ["the first answer", having(thinking, says), 2, 1_000_000],
    ["a former jump", { ...nothingTold, lastId: 1_000_007 }, 3, 2_000_000],
    ["a jump of which nothing is left", having(thinking), 4, 3_000_000],
    ["more than a range", { ...nothingTold, lastId: 1_000_007 }, 2, 1_000_007]
  ])("goes on far behind what an execution before may have told: %s", (_, state, epoch, lastId) => {
    assert.strictEqual(resumed(state, epoch).lastId, lastId)
  })

  it("goes on right behind a run that parked", () => {
    assert.strictEqual(resumed(having(thinking, call("c1"), waits), 2).lastId, 3)
    assert.strictEqual(resumed(having(thinking, call("c1"), waits, result("c1")), 2).lastId, 1_000_000)
  })
})

describe("the end of a run's events", () => {
  const at = new Date("2026-11-20T08:00:00.000Z")
  const run = (given: Partial<StoredRun>): StoredRun => ({
    ...unstarted,
    id: "run_1" as RunId,
    workspaceId: "ws_1" as WorkspaceId,
    projectId: null,
    status: "PENDING",
    prompt: "p",
    createdAt: new Date(0),
    updatedAt: new Date(0),
    agentId: null,
    cronJobId: null,
    turn: null,
    autonomyLevel: "autonomous",
    selectedProvider: null,
    selectedModel: null,
    providerKeyId: null,
    connectorIds: null,
    policy: null,
    input: null,
    ...given
  })
  const usage = { inputTokens: 1, outputTokens: 2 }
  const turn = { conversationId: "conv_1" as ConversationId, replyId: "msg_1" as MessageId }

  it("follows from the run", () => {
    assert.deepStrictEqual(endOf(run({ status: "COMPLETED", output: "o", usage })), {
      event: "done",
      data: { runId: "run_1" as RunId, output: "o", usage }
    })
    assert.deepStrictEqual(endOf(run({ status: "COMPLETED", output: "o", usage, turn, finishedAt: at })), {
      event: "done",
      data: {
        conversationId: turn.conversationId,
        message: { id: turn.replyId, role: "ASSISTANT", content: "o", createdAt: at },
        usage
      }
    })
    assert.deepStrictEqual(endOf(run({ status: "FAILED", error: "e", errorCode: "steps_exceeded" })), {
      event: "error",
      data: { error: "e", code: "steps_exceeded" }
    })
    assert.deepStrictEqual(endOf(run({ status: "FAILED", error: "e" }))?.data, { error: "e", code: "failed" })
    assert.deepStrictEqual(endOf(run({ status: "CANCELLED" }))?.data, {
      error: "the run was cancelled",
      code: "cancelled"
    })
  })

  it.each(["PENDING", "RUNNING", "WAITING_APPROVAL"] as const)("is not there while it is %s", (status) => {
    assert.isUndefined(endOf(run({ status, turn })))
  })

  const million = 1_000_000
  it.each<[string, Partial<StoredRun>, lastId: number, end: number]>([
    ["done, after all that was told", { status: "COMPLETED", epoch: 1 }, 7, 8],
    ["done by another execution", { status: "COMPLETED", epoch: 3 }, 2 * million + 4, 2 * million + 5],
    ["done after it waited for people", { status: "COMPLETED", epoch: 2 }, 9, 10],
    ["done, and the events are forgotten", { status: "COMPLETED", epoch: 2 }, 0, 2 * million],
    ["failed by itself", { status: "FAILED", epoch: 1, errorCode: "steps_exceeded" }, 7, 8],
    ["failed before it told more than one that was lost", { status: "FAILED", epoch: 2 }, 7, 2 * million],
    ["failed in its own range", { status: "FAILED", epoch: 2 }, million + 3, million + 4],
    ["nobody decided", { status: "FAILED", epoch: 3, errorCode: "approval_expired" }, 7, 8],
    ["its worker was lost", { status: "FAILED", epoch: 4, errorCode: "worker_lost" }, 7, 4 * million],
    ["what it told can't be kept", { status: "FAILED", epoch: 1, errorCode: "internal_error" }, 7, million],
    ["cancelled while it told", { status: "CANCELLED", epoch: 1 }, 7, million],
    ["cancelled far behind", { status: "CANCELLED", epoch: 1 }, million + 7, million + 8],
    ["cancelled before it began", { status: "CANCELLED", epoch: 0 }, 0, 1],
    ["a turn that was cancelled before it began", { status: "CANCELLED", epoch: 0, turn }, 1, 2]
  ])("has an id behind all that may have been told: %s", (_, given, lastId, end) => {
    assert.strictEqual(endIdOf(run(given), lastId), end)
  })

  it("is done or error, and nothing else", () => {
    assert.deepStrictEqual([thinking, says, waits, call("c"), result("c")].map(isEnd), [
      false,
      false,
      false,
      false,
      false
    ])
    assert.isTrue(isEnd({ event: "error", data: { error: "", code: "" } }))
  })
})
