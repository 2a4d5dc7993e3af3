import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { answersOf, openCalls, storyOf, type Times } from "../../console/src/views/Runs/Story.ts"
import { Approval, type ApprovalStatus } from "../../src/Schemas/Approval.ts"
import { RunDetail, type RunStatus } from "../../src/Schemas/Run.ts"

const at = (millis: number) => new Date(millis).toISOString()
const decodeRun = Schema.decodeUnknownSync(Schema.toCodecJson(RunDetail))
const decodeApproval = Schema.decodeUnknownSync(Schema.toCodecJson(Approval))
const usage = { inputTokens: 10, outputTokens: 2 }

const model = (index: number, ...calls: ReadonlyArray<string>) => ({
  index,
  type: "model",
  text: "words",
  toolCalls: calls.map((id) => ({ id, name: `tool_${id}`, arguments: { id } })),
  usage
})

const tool = (index: number, id: string, isError = false) => ({
  index,
  type: "tool",
  result: { id, name: `tool_${id}`, result: "done", isError, durationMs: 100 }
})

const run = (status: RunStatus, steps: ReadonlyArray<unknown>, more: object = {}) =>
  decodeRun({
    id: "run_1",
    workspaceId: "ws_1",
    projectId: null,
    status,
    prompt: "do it",
    output: null,
    createdAt: at(0),
    updatedAt: at(5_000),
    agentId: null,
    cronJobId: null,
    autonomyLevel: "supervised",
    runAt: null,
    error: null,
    provider: null,
    model: null,
    providerKeyId: null,
    steps,
    usage,
    attempts: 1,
    startedAt: at(1_000),
    firstTokenAt: null,
    finishedAt: ["COMPLETED", "FAILED", "CANCELLED"].includes(status) ? at(5_000) : null,
    ...more
  })

const approval = (status: ApprovalStatus, created: number, decided?: number) =>
  decodeApproval({
    id: "appr_1",
    workspaceId: "ws_1",
    runId: "run_1",
    toolCallId: "a",
    tool: "tool_a",
    connector: null,
    address: null,
    description: null,
    arguments: {},
    status,
    reason: null,
    decidedBy: null,
    decidedAt: decided === undefined ? null : at(decided),
    createdAt: at(created),
    expiresAt: at(86_400_000)
  })

const times = (ends: Readonly<Record<number, number>>, more: Partial<Times> = {}): Times => ({
  steps: new Map(
    Object.entries(ends).map(([index, to]) => [Number(index), { from: undefined, to, costUsd: 0.1 }])
  ),
  approvals: [],
  executions: [],
  errorCode: undefined,
  ...more
})

const told = (...args: Parameters<typeof storyOf>) =>
  storyOf(...args).map(({ from, state, title, to }) => [title, state, from, to])

describe("the story of a run", () => {
  it("is its waiting, its answers and their calls, one behind the other", () => {
    const steps = [model(0, "a", "b"), tool(1, "a"), tool(2, "b", true), model(3)]
    expect(told(run("COMPLETED", steps), times({ 0: 2_000, 1: 2_150, 2: 2_300, 3: 5_000 }), "idle")).toEqual([
      ["Waited to begin", "ok", 0, 1_000],
      ["Model call 1", "ok", 1_000, 2_000],
      ["tool_a", "ok", 2_050, 2_150],
      ["tool_b", "bad", 2_200, 2_300],
      ["Model call 2", "ok", 2_300, 5_000]
    ])
  })

  it("ends with what goes on: an answer, or the calls without a result", () => {
    expect(told(run("RUNNING", []), times({}), "thinking").at(-1)).toEqual([
      "Model call 1",
      "open",
      1_000,
      undefined
    ])
    const steps = [model(0, "a", "b"), tool(1, "a")]
    expect(told(run("RUNNING", steps), times({ 0: 2_000, 1: 2_100 }), "tools").at(-1)).toEqual([
      "tool_b",
      "open",
      2_100,
      undefined
    ])
  })

  it("says what was under way when it failed or was cancelled", () => {
    expect(told(run("FAILED", [model(0, "a")]), times({ 0: 2_000 }), "idle").at(-1)).toEqual([
      "tool_a",
      "bad",
      2_000,
      5_000
    ])
    expect(told(run("CANCELLED", []), times({}), "idle").at(-1)).toEqual([
      "Model call 1",
      "cancelled",
      1_000,
      5_000
    ])
  })

  it("has the waiting for people as long as it lasts, and no call beside it", () => {
    const steps = [model(0, "a")]
    const waiting = times({ 0: 2_000 }, { approvals: [approval("PENDING", 2_010)] })
    expect(told(run("WAITING_APPROVAL", steps), waiting, "waiting").slice(2)).toEqual([
      ["Approval: tool_a", "open", 2_010, undefined]
    ])
    expect(told(run("CANCELLED", steps), waiting, "over").slice(2)).toEqual([
      ["Approval: tool_a", "cancelled", 2_010, 5_000]
    ])
    const decided = times({ 0: 2_000, 1: 4_200 }, { approvals: [approval("APPROVED", 2_010, 4_000)] })
    expect(told(run("RUNNING", [...steps, tool(1, "a")]), decided, "thinking").slice(2)).toEqual([
      ["Approval: tool_a", "ok", 2_010, 4_000],
      ["tool_a", "ok", 4_100, 4_200],
      ["Model call 2", "open", 4_200, undefined]
    ])
  })

  it("marks where another node took it up", () => {
    const executions = [
      { number: 1, from: 1_000, to: 2_500, isLost: true },
      { number: 2, from: 3_000, to: undefined, isLost: false }
    ]
    expect(
      told(run("RUNNING", [model(0, "a")]), times({ 0: 2_000 }, { executions }), "tools").slice(2)
    ).toEqual([
      ["Taken over: its node was lost", "bad", 3_000, 3_000],
      ["tool_a", "open", 3_000, undefined]
    ])
  })

  it("waits for its time, for a node, and again after a retry", () => {
    const later = run("PENDING", [], { startedAt: null, runAt: at(90_000) })
    expect(told(later, times({}), "idle")).toEqual([["Waits for its time", "open", 0, undefined]])
    const fresh = run("PENDING", [], { startedAt: null })
    expect(told(fresh, times({}), "idle")).toEqual([["Waits to begin", "open", 0, undefined]])
    const gone = run("CANCELLED", [], { startedAt: null })
    expect(told(gone, times({}), "idle")).toEqual([["Waited to begin", "ok", 0, 5_000]])
    expect(told(run("PENDING", [model(0)]), times({ 0: 2_000 }), "idle").at(-1)).toEqual([
      "Waits to go on",
      "open",
      5_000,
      undefined
    ])
  })

  it("counts answers, and knows the calls that are open", () => {
    const steps = [model(0, "a"), tool(1, "a"), model(2, "b", "c"), tool(3, "b")]
    expect(answersOf(run("RUNNING", steps))).toBe(2)
    expect(openCalls(run("RUNNING", steps)).map(({ id }) => id)).toEqual(["c"])
  })
})
