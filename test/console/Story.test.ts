import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { answersOf, openCalls, storyOf } from "../../console/src/views/Runs/Story.ts"
import { RunDetail, type RunStatus } from "../../src/Schemas/Run.ts"
import { RunTimeline } from "../../src/Schemas/RunTimeline.ts"

const at = (millis: number) => new Date(millis).toISOString()
const decodeRun = Schema.decodeUnknownSync(Schema.toCodecJson(RunDetail))
const decodeTimeline = Schema.decodeUnknownSync(Schema.toCodecJson(RunTimeline))
const usage = { inputTokens: 10, outputTokens: 2 }
const over = ["COMPLETED", "FAILED", "CANCELLED"]

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
    finishedAt: over.includes(status) ? at(5_000) : null,
    ...more
  })

const lasting = (from: number, to: number | null) => ({
  startedAt: at(from),
  endedAt: to === null ? null : at(to)
})

const queued = (from: number, to: number | null, cause = "start", epoch = 1) => ({
  type: "queued",
  ...lasting(from, to),
  epoch,
  cause
})

const answer = (index: number, from: number, to: number, more: object = {}) => ({
  type: "model",
  ...lasting(from, to),
  index,
  epoch: 1,
  ...usage,
  cachedInputTokens: 0,
  costUsd: 0.1,
  provider: "offline",
  model: "offline",
  truncated: null,
  ...more
})

const result = (index: number, id: string, from: number, to: number, isError = false) => ({
  type: "tool",
  ...lasting(from, to),
  index,
  epoch: 1,
  toolCallId: id,
  name: `tool_${id}`,
  isError
})

const asked = (id: string, status: string, from: number, to: number | null) => ({
  type: "approval",
  ...lasting(from, to),
  approvalId: `appr_${id}`,
  toolCallId: id,
  tool: `tool_${id}`,
  status,
  decidedBy: null,
  reason: null
})

const timeline = (spans: ReadonlyArray<unknown>, more: object = {}) =>
  decodeTimeline({
    runId: "run_1",
    status: "RUNNING",
    errorCode: null,
    createdAt: at(0),
    runAt: null,
    startedAt: at(1_000),
    finishedAt: null,
    executions: [{ epoch: 1, startedAt: at(1_000), cause: "start" }],
    spans,
    ...more
  })

const told = (...args: Parameters<typeof storyOf>) =>
  storyOf(...args).map(({ from, state, title, to }) => [title, state, from, to])

const began = queued(0, 1_000)

describe("the story of a run", () => {
  it("is its waiting, its answers and their calls, with what was said in them", () => {
    const steps = [model(0, "a", "b"), tool(1, "a"), tool(2, "b", true), model(3)]
    const spans = [
      began,
      answer(0, 1_000, 2_000),
      result(1, "a", 2_000, 2_150),
      result(2, "b", 2_000, 2_300, true),
      answer(3, 2_300, 5_000)
    ]
    expect(told(run("COMPLETED", steps), timeline(spans), "idle")).toEqual([
      ["Waited to begin", "ok", 0, 1_000],
      ["Model call 1", "ok", 1_000, 2_000],
      ["tool_a", "ok", 2_000, 2_150],
      ["tool_b", "bad", 2_000, 2_300],
      ["Model call 2", "ok", 2_300, 5_000]
    ])
    const [, first, second] = storyOf(run("COMPLETED", steps), timeline(spans), "idle")
    expect(first?.body).toMatchObject({ step: { text: "words" }, span: { costUsd: 0.1 } })
    expect(second?.body).toMatchObject({
      call: { arguments: { id: "a" } },
      step: { result: { result: "done" } }
    })
  })

  it("ends with what goes on: an answer, or the calls without a result, since their answer", () => {
    expect(told(run("RUNNING", []), timeline([began]), "thinking").at(-1)).toEqual([
      "Model call 1",
      "open",
      1_000,
      undefined
    ])
    const steps = [model(0, "a", "b"), tool(1, "a")]
    const spans = [began, answer(0, 1_000, 2_000), result(1, "a", 2_000, 2_100)]
    expect(told(run("RUNNING", steps), timeline(spans), "tools").at(-1)).toEqual([
      "tool_b",
      "open",
      2_000,
      undefined
    ])
  })

  it("has each step once where the timeline knows more than the run does", () => {
    const spans = [began, answer(0, 1_000, 2_000), result(1, "a", 2_000, 2_100)]
    const rows = storyOf(run("RUNNING", [model(0, "a")]), timeline(spans), "thinking")
    expect(rows.map(({ key }) => key)).toEqual(["queued-1", "step-0", "call-a", "answer-1"])
  })

  it("says what was under way when it failed or was cancelled", () => {
    const spans = [began, answer(0, 1_000, 2_000)]
    expect(told(run("FAILED", [model(0, "a")]), timeline(spans), "idle").at(-1)).toEqual([
      "tool_a",
      "bad",
      2_000,
      5_000
    ])
    expect(told(run("CANCELLED", []), timeline([began]), "idle").at(-1)).toEqual([
      "Model call 1",
      "cancelled",
      1_000,
      5_000
    ])
    const cut = [began, answer(0, 1_000, 4_990, { truncated: "it was cut off" })]
    expect(told(run("FAILED", [model(0)]), timeline(cut), "idle").slice(1)).toEqual([
      ["Model call 1", "bad", 1_000, 4_990]
    ])
  })

  it("has the waiting for people as long as it lasts, and no call beside it", () => {
    const steps = [model(0, "a")]
    const spans = [began, answer(0, 1_000, 2_000), asked("a", "PENDING", 2_010, null)]
    expect(told(run("WAITING_APPROVAL", steps), timeline(spans), "waiting").slice(2)).toEqual([
      ["Approval: tool_a", "open", 2_010, undefined]
    ])
    expect(told(run("CANCELLED", steps), timeline(spans), "over").slice(2)).toEqual([
      ["Approval: tool_a", "cancelled", 2_010, 5_000]
    ])
    const expired = [...spans.slice(0, 2), asked("a", "EXPIRED", 2_010, 5_000)]
    expect(told(run("FAILED", steps), timeline(expired), "over").slice(2)).toEqual([
      ["Approval: tool_a", "bad", 2_010, 5_000]
    ])
    const decided = [
      ...spans.slice(0, 2),
      asked("a", "APPROVED", 2_010, 4_000),
      queued(4_000, 4_050, "approval", 2),
      result(1, "a", 4_100, 4_200)
    ]
    expect(told(run("RUNNING", [...steps, tool(1, "a")]), timeline(decided), "thinking").slice(2)).toEqual([
      ["Approval: tool_a", "ok", 2_010, 4_000],
      ["Waited to go on", "ok", 4_000, 4_050],
      ["tool_a", "ok", 4_100, 4_200],
      ["Model call 2", "open", 4_200, undefined]
    ])
  })

  it("shows how long no node had it, and what was begun again", () => {
    const spans = [began, answer(0, 1_000, 2_000), { type: "takeover", ...lasting(2_500, 3_000), epoch: 2 }]
    const executions = [
      { epoch: 1, startedAt: at(1_000), cause: "start" },
      { epoch: 2, startedAt: at(3_000), cause: "takeover" }
    ]
    expect(told(run("RUNNING", [model(0, "a")]), timeline(spans, { executions }), "tools").slice(2)).toEqual([
      ["Lost with its node", "cancelled", 2_000, 2_500],
      ["Node lost, taken over", "bad", 2_500, 3_000],
      ["tool_a", "open", 3_000, undefined]
    ])
  })

  it("waits for its time, for a node, and again after a retry", () => {
    const fresh = { startedAt: null, executions: [] }
    const later = run("PENDING", [], { startedAt: null, runAt: at(90_000) })
    expect(told(later, timeline([], { ...fresh, runAt: at(90_000) }), "idle")).toEqual([
      ["Waits for its time", "open", 0, undefined]
    ])
    const due = timeline([queued(90_000, 90_100)], { runAt: at(90_000) })
    expect(told(run("COMPLETED", [], { finishedAt: at(91_000) }), due, "idle").slice(0, 2)).toEqual([
      ["Waited for its time", "ok", 0, 90_000],
      ["Waited to begin", "ok", 90_000, 90_100]
    ])
    const waiting = timeline([queued(0, null)], fresh)
    expect(told(run("PENDING", [], { startedAt: null }), waiting, "idle")).toEqual([
      ["Waits to begin", "open", 0, undefined]
    ])
    expect(told(run("CANCELLED", [], { startedAt: null }), waiting, "idle")).toEqual([
      ["Waited to begin", "cancelled", 0, 5_000]
    ])
    const retried = timeline([began, answer(0, 1_000, 2_000), queued(5_000, null, "retry", 2)])
    expect(told(run("PENDING", [model(0)]), retried, "idle").at(-1)).toEqual([
      "Waits for its retry",
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
