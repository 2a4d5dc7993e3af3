import type { Approval } from "../../../../src/Schemas/Approval.ts"
import type { RunDetail, RunStep } from "../../../../src/Schemas/Run.ts"
import type { Live } from "./Live.ts"
import type { Span } from "./Waterfall.ts"

type Model = Extract<RunStep, { type: "model" }>
type Tool = Extract<RunStep, { type: "tool" }>
type Call = Model["toolCalls"][number]

/** What a row of the waterfall shows when it is opened. */
export type Body =
  | { readonly type: "model"; readonly step: Model | undefined; readonly costUsd: number | null | undefined }
  | { readonly type: "tool"; readonly call: Call | undefined; readonly step: Tool | undefined }
  | { readonly type: "approval"; readonly approval: Approval }
  | { readonly type: "words"; readonly words: string }

/** A row of the waterfall: something that took time, or (`mark`) an instant. */
export interface Chapter extends Span {
  readonly key: string
  readonly kind: "queued" | "model" | "tool" | "approval" | "mark"
  readonly title: string
  /** How it ended; `open` goes on. */
  readonly state: "ok" | "bad" | "cancelled" | "open"
  /** Whether it belongs to the answer above it. */
  readonly isUnder: boolean
  readonly body: Body
}

/** When a finished step was begun and finished, in milliseconds since 1970, and what it cost. */
export interface Timed {
  readonly from: number | undefined
  readonly to: number
  readonly costUsd: number | null | undefined
}

/** A time at which a node began to work on the run, and until when it did. */
export interface Execution {
  readonly number: number
  readonly from: number
  readonly to: number | undefined
  /** Whether it ended without having handed the run back. */
  readonly isLost: boolean
}

/** What there is to know of when things happened. */
export interface Times {
  readonly steps: ReadonlyMap<number, Timed>
  readonly approvals: ReadonlyArray<Approval>
  readonly executions: ReadonlyArray<Execution>
  /** Why it failed, in a word for programs. */
  readonly errorCode: string | undefined
}

type Told = Pick<
  RunDetail,
  "status" | "error" | "runAt" | "steps" | "createdAt" | "updatedAt" | "startedAt" | "finishedAt"
>

const isModel = (step: RunStep): step is Model => step.type === "model"
const isTool = (step: RunStep): step is Tool => step.type === "tool"

/** How many answers of the model are finished. */
export const answersOf = ({ steps }: Pick<RunDetail, "steps">): number => steps.filter(isModel).length

/** The calls of the last answer that have no result yet. */
export const openCalls = ({ steps }: Pick<RunDetail, "steps">): ReadonlyArray<Call> => {
  const answered = new Set(steps.filter(isTool).map(({ result }) => result.id))
  return steps.findLast(isModel)?.toolCalls.filter(({ id }) => !answered.has(id)) ?? []
}

const callsOf = (steps: ReadonlyArray<RunStep>): ReadonlyMap<string, Call> =>
  new Map(steps.filter(isModel).flatMap(({ toolCalls }) => toolCalls.map((call) => [call.id, call] as const)))

const finished = (run: Told, { steps: timed }: Times): ReadonlyArray<Chapter> => {
  const calls = callsOf(run.steps)
  const chapters: Array<Chapter> = []
  let cursor = (run.startedAt ?? run.createdAt).getTime()
  let latest = cursor
  let answers = 0
  for (const step of run.steps) {
    const time = timed.get(step.index)
    const to = Math.max(cursor, time?.to ?? latest)
    if (step.type === "model") {
      answers += 1
      cursor = Math.max(cursor, latest)
      chapters.push({
        key: `step-${step.index}`,
        kind: "model",
        title: `Model call ${answers}`,
        state: "ok",
        isUnder: false,
        isWait: false,
        from: Math.min(to, time?.from ?? cursor),
        to,
        body: { type: "model", step, costUsd: time?.costUsd }
      })
      cursor = to
    } else {
      chapters.push({
        key: `call-${step.result.id}`,
        kind: "tool",
        title: step.result.name,
        state: step.result.isError ? "bad" : "ok",
        isUnder: true,
        isWait: false,
        from: time?.from ?? Math.max(cursor, to - step.result.durationMs),
        to,
        body: { type: "tool", call: calls.get(step.result.id), step }
      })
    }
    latest = Math.max(latest, to)
  }
  return chapters
}

const approvalChapter = (approval: Approval, ended: number | undefined): Chapter => {
  const decided = approval.decidedAt?.getTime()
  const states = { PENDING: "open", APPROVED: "ok", REJECTED: "bad", EXPIRED: "bad" } as const
  const isOver = approval.status !== "PENDING" || ended !== undefined
  return {
    key: approval.id,
    kind: "approval",
    title: `Approval: ${approval.tool}`,
    state: approval.status === "PENDING" && isOver ? "cancelled" : states[approval.status],
    isUnder: true,
    isWait: true,
    from: approval.createdAt.getTime(),
    to: isOver ? (decided ?? ended ?? approval.expiresAt.getTime()) : undefined,
    body: { type: "approval", approval }
  }
}

const words = (text: string): Body => ({ type: "words", words: text })

/** The waiting before somebody works on it, for the first time or after a retry. */
const queued = (run: Told): Chapter => {
  const isScheduled = run.runAt !== null
  const isOpen = run.startedAt === null && run.finishedAt === null
  const text = isScheduled
    ? "It is to begin later, at the time that it was given."
    : "From when it was made until a node began to work on it."
  return {
    key: "queued",
    kind: "queued",
    title: isScheduled ? "Waits for its time" : isOpen ? "Waits to begin" : "Waited to begin",
    state: isOpen ? "open" : "ok",
    isUnder: false,
    isWait: true,
    from: run.createdAt.getTime(),
    to: (run.startedAt ?? run.finishedAt)?.getTime(),
    body: words(text)
  }
}

/** What was under way when it ended, or is now: what is not among the finished steps. */
const unfinished = (
  run: Told,
  from: number,
  phase: Live["phase"],
  waits: boolean
): ReadonlyArray<Chapter> => {
  if (run.status === "COMPLETED" || run.startedAt === null || waits) return []
  const state = { FAILED: "bad", CANCELLED: "cancelled" } as const
  const common = {
    state: run.status === "FAILED" || run.status === "CANCELLED" ? state[run.status] : ("open" as const),
    from,
    to: run.finishedAt?.getTime()
  }
  if (run.status === "PENDING") {
    const body = words("It is to go on behind its last finished step.")
    return [
      {
        ...common,
        key: "again",
        kind: "queued",
        title: "Waits to go on",
        isUnder: false,
        isWait: true,
        from: run.updatedAt.getTime(),
        body
      }
    ]
  }
  const open = openCalls(run)
  if (open.length > 0) {
    return open.map((call) => ({
      ...common,
      key: `call-${call.id}`,
      kind: "tool",
      title: call.name,
      isUnder: true,
      isWait: run.status === "WAITING_APPROVAL",
      body: { type: "tool", call, step: undefined }
    }))
  }
  // Some limits end a run between two steps, where nothing was under way.
  const answers = answersOf(run)
  const isBegun = common.state === "open" ? phase !== "over" : (common.to ?? from) > from
  if (!isBegun) return []
  const body: Body = { type: "model", step: undefined, costUsd: undefined }
  const title = `Model call ${answers + 1}`
  return [{ ...common, key: `answer-${answers}`, kind: "model", title, isUnder: false, isWait: false, body }]
}

/** Nodes that took the run up from another. */
const takeovers = ({ executions }: Times): ReadonlyArray<Chapter> =>
  executions.slice(1).map(({ from, number }, index) => {
    const isLost = executions[index]?.isLost === true
    return {
      key: `execution-${number}`,
      kind: "mark",
      title: isLost ? "Taken over: its node was lost" : "Taken up again",
      state: isLost ? "bad" : "ok",
      isUnder: false,
      isWait: true,
      from,
      to: from,
      body: words(
        isLost
          ? "The node that worked on it gave no sign of life any more. Another went on behind the last finished step."
          : "A node went on behind the last finished step."
      )
    }
  })

/** All that happened and happens in a run, in order of time: the calls of an answer stay behind it. */
export const storyOf = (run: Told, times: Times, phase: Live["phase"]): ReadonlyArray<Chapter> => {
  const steps = finished(run, times)
  const ended = run.finishedAt?.getTime()
  const approvals = times.approvals.map((approval) => approvalChapter(approval, ended))
  const marks = takeovers(times)
  const before = [...steps, ...approvals, ...marks].map(({ from, to }) => to ?? from)
  const last = Math.max(run.startedAt?.getTime() ?? 0, ...before)
  const waits = approvals.some(({ state }) => state === "open" || state === "cancelled")
  const all = [...steps, ...approvals, ...marks, ...unfinished(run, last, phase, waits)]
  return [queued(run), ...all.toSorted((a, b) => a.from - b.from)]
}
