import type { RunDetail, RunStep } from "../../../../src/Schemas/Run.ts"
import type { RunSpan, RunTimeline } from "../../../../src/Schemas/RunTimeline.ts"
import type { Live } from "./Live.ts"
import type { Span } from "./Waterfall.ts"

type Of<Type extends RunSpan["type"]> = Extract<RunSpan, { type: Type }>
type Model = Extract<RunStep, { type: "model" }>
type Tool = Extract<RunStep, { type: "tool" }>
type Call = Model["toolCalls"][number]

/** What a row of the waterfall shows when it is opened; of steps that are forgotten only what the span says. */
export type Body =
  | { readonly type: "model"; readonly span: Of<"model"> | undefined; readonly step: Model | undefined }
  | { readonly type: "tool"; readonly call: Call | undefined; readonly step: Tool | undefined }
  | { readonly type: "approval"; readonly span: Of<"approval">; readonly call: Call | undefined }
  | { readonly type: "words"; readonly words: string }

/** A row of the waterfall. */
export interface Chapter extends Span {
  readonly key: string
  readonly kind: "queued" | "takeover" | "model" | "tool" | "approval"
  readonly title: string
  /** How it ended; `open` goes on. */
  readonly state: "ok" | "bad" | "cancelled" | "open"
  /** Whether it belongs to the answer above it. */
  readonly isUnder: boolean
  readonly body: Body
}

export type Told = Pick<RunDetail, "status" | "steps" | "createdAt" | "finishedAt" | "runAt">
type Phase = Live["phase"]

const isModel = (step: RunStep): step is Model => step.type === "model"
const isTool = (step: RunStep): step is Tool => step.type === "tool"

/** How many answers of the model are finished. */
export const answersOf = ({ steps }: Pick<RunDetail, "steps">): number => steps.filter(isModel).length

/** The calls of the last answer that have no result yet. */
export const openCalls = ({ steps }: Pick<RunDetail, "steps">): ReadonlyArray<Call> => {
  const answered = new Set(steps.filter(isTool).map(({ result }) => result.id))
  return steps.findLast(isModel)?.toolCalls.filter(({ id }) => !answered.has(id)) ?? []
}

const callOf = (steps: ReadonlyArray<RunStep>, id: string): Call | undefined =>
  steps
    .filter(isModel)
    .flatMap(({ toolCalls }) => toolCalls)
    .find((call) => call.id === id)

const words = (text: string): Body => ({ type: "words", words: text })

/** What went on when the run ended goes on no more. */
const endOf = (run: Told, endedAt: Date | null): number | undefined => (endedAt ?? run.finishedAt)?.getTime()

const waits = {
  start: ["Waits to begin", "Waited to begin", "It waited for a free place on a node."],
  approval: ["Waits to go on", "Waited to go on", "It was decided, and waited for a free place on a node."],
  retry: ["Waits for its retry", "Retried", "It was retried, and waited for a free place on a node."],
  handed_back: [
    "Waits for another node",
    "Handed back by its node",
    "The node that worked on it was stopped. Another goes on behind the last finished step."
  ],
  takeover: ["Waits for another node", "Taken over", "Another node goes on behind the last finished step."]
} as const

const queued = (run: Told, { cause, endedAt, epoch, startedAt }: Of<"queued">): Chapter => {
  const to = endOf(run, endedAt)
  const [now, then, text] = waits[cause]
  return {
    key: `queued-${epoch}`,
    kind: "queued",
    title: to === undefined ? now : then,
    state: to === undefined ? "open" : endedAt === null ? "cancelled" : "ok",
    isUnder: false,
    isWait: true,
    from: startedAt.getTime(),
    to,
    body: words(text)
  }
}

const takeover = (run: Told, { endedAt, epoch, startedAt }: Of<"takeover">): Chapter => {
  const to = endOf(run, endedAt)
  return {
    key: `takeover-${epoch}`,
    kind: "takeover",
    title: to === undefined ? "Node lost" : "Node lost, taken over",
    state: to === undefined ? "open" : "bad",
    isUnder: false,
    isWait: true,
    from: startedAt.getTime(),
    to,
    body: words(
      "The node that worked on it gave no sign of life any more. Another goes on behind the last finished step; what was under way is done again."
    )
  }
}

const model = (run: Told, span: Of<"model">, number: number): Chapter => ({
  key: `step-${span.index}`,
  kind: "model",
  title: span.index < 0 ? "Model call, cut off" : `Model call ${number}`,
  state: span.truncated === null ? "ok" : "bad",
  isUnder: false,
  isWait: false,
  from: (span.startedAt ?? span.endedAt).getTime(),
  to: span.endedAt.getTime(),
  body: { type: "model", span, step: run.steps.filter(isModel).find(({ index }) => index === span.index) }
})

const tool = (run: Told, span: Of<"tool">): Chapter => ({
  key: `call-${span.toolCallId}`,
  kind: "tool",
  title: span.name,
  state: span.isError ? "bad" : "ok",
  isUnder: true,
  isWait: false,
  from: span.startedAt.getTime(),
  to: span.endedAt.getTime(),
  body: {
    type: "tool",
    call: callOf(run.steps, span.toolCallId),
    step: run.steps.filter(isTool).find(({ index }) => index === span.index)
  }
})

const decided = { PENDING: "open", APPROVED: "ok", REJECTED: "bad", EXPIRED: "bad" } as const

const approval = (run: Told, span: Of<"approval">): Chapter => {
  const to = endOf(run, span.endedAt)
  return {
    key: span.approvalId,
    kind: "approval",
    title: `Approval: ${span.tool}`,
    state: span.status === "PENDING" && to !== undefined ? "cancelled" : decided[span.status],
    isUnder: true,
    isWait: true,
    from: span.startedAt.getTime(),
    to,
    body: { type: "approval", span, call: callOf(run.steps, span.toolCallId) }
  }
}

const chapterOf = (run: Told, span: RunSpan, number: number): Chapter => {
  switch (span.type) {
    case "queued":
      return queued(run, span)
    case "takeover":
      return takeover(run, span)
    case "model":
      return model(run, span, number)
    case "tool":
      return tool(run, span)
    case "approval":
      return approval(run, span)
  }
}

/** The time before it was to begin, if anybody said when. */
const scheduled = (run: Told, { runAt }: RunTimeline): ReadonlyArray<Chapter> => {
  if (runAt === null || runAt <= run.createdAt) return []
  const ended = run.finishedAt !== null && run.finishedAt < runAt ? run.finishedAt : runAt
  const isOpen = run.status === "PENDING" && run.runAt !== null
  return [
    {
      key: "scheduled",
      kind: "queued",
      title: isOpen ? "Waits for its time" : "Waited for its time",
      state: isOpen ? "open" : ended < runAt ? "cancelled" : "ok",
      isUnder: false,
      isWait: true,
      from: run.createdAt.getTime(),
      to: isOpen ? undefined : ended.getTime(),
      body: words("It was not to begin before the time that it was given.")
    }
  ]
}

/** What is under way, or was when it ended: what no span says, as it is not finished. */
const unfinished = (
  run: Told,
  { executions, spans, startedAt }: RunTimeline,
  phase: Phase
): ReadonlyArray<Chapter> => {
  const began = (executions.at(-1)?.startedAt ?? startedAt)?.getTime()
  if (began === undefined || !["RUNNING", "FAILED", "CANCELLED"].includes(run.status)) return []
  // What waits, or waited when it ended, was not worked on.
  const waiting = spans.filter(
    (span) => span.type !== "model" && span.type !== "tool" && span.endedAt === null
  )
  const undecided = spans.filter((span) => span.type === "approval" && span.status === "EXPIRED")
  if (waiting.length + undecided.length > 0) return []

  const endsOf = (type: RunSpan["type"]) =>
    spans.flatMap((span) => (span.type === type ? [span.endedAt?.getTime() ?? 0] : []))
  const common = {
    state: run.status === "FAILED" ? "bad" : run.status === "CANCELLED" ? "cancelled" : "open",
    isWait: false,
    to: run.finishedAt?.getTime()
  } as const
  // Both are read one behind the other: spans may know more by then.
  const known = new Set(spans.map((span) => (span.type === "tool" ? span.toolCallId : undefined)))
  const open = openCalls(run).filter(({ id }) => !known.has(id))
  if (open.length > 0) {
    const from = Math.max(began, ...endsOf("model"))
    return open.map((call) => ({
      ...common,
      key: `call-${call.id}`,
      kind: "tool",
      title: call.name,
      isUnder: true,
      from,
      body: { type: "tool", call, step: undefined }
    }))
  }
  const answers = Math.max(answersOf(run), endsOf("model").length)
  const from = Math.max(began, ...endsOf("model"), ...endsOf("tool"))
  // Some limits end a run between two steps, and an answer that was cut off is a span by itself.
  const isCutOff = spans.some((span) => span.type === "model" && span.truncated !== null && span.index >= 0)
  const isBegun = common.to === undefined ? phase !== "over" : common.to > from && !isCutOff
  if (!isBegun) return []
  const body: Body = { type: "model", span: undefined, step: undefined }
  const title = `Model call ${answers + 1}`
  return [{ ...common, key: `answer-${answers}`, kind: "model", title, isUnder: false, from, body }]
}

/** What was under way when a node was lost: no step came of it, and so no span. */
const lost = ({ executions, spans }: RunTimeline): ReadonlyArray<Chapter> =>
  spans.flatMap((span, place): ReadonlyArray<Chapter> => {
    if (span.type !== "takeover") return []
    const began = executions.findLast(({ epoch }) => epoch < span.epoch)?.startedAt?.getTime() ?? 0
    const ends = spans.slice(0, place).map(({ endedAt }) => endedAt?.getTime() ?? 0)
    const from = Math.max(began, ...ends)
    const to = span.startedAt.getTime()
    if (from === 0 || to <= from) return []
    const body = words("A step that was not finished when the node was lost. It is done again by another.")
    const title = "Lost with its node"
    const key = `lost-${span.epoch}`
    return [
      { key, kind: "takeover", title, state: "cancelled", isUnder: false, isWait: false, from, to, body }
    ]
  })

/** All that happened and happens in a run, in order of time: the calls of an answer stay behind it. */
export const storyOf = (run: Told, timeline: RunTimeline, phase: Phase): ReadonlyArray<Chapter> => {
  let answers = 0
  const told = timeline.spans.map((span) => {
    if (span.type === "model" && span.index >= 0) answers += 1
    return chapterOf(run, span, answers)
  })
  const all = [...scheduled(run, timeline), ...told, ...lost(timeline), ...unfinished(run, timeline, phase)]
  return all.toSorted((a, b) => a.from - b.from)
}
