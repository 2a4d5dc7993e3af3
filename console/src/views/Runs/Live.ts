import type { RunEvent } from "../../../../src/Schemas/RunEvent.ts"

/** What a run does now, as its events tell. */
export interface Live {
  /** How many answers of the model were begun and finished before the one that is under way. */
  readonly answers: number
  readonly phase: "idle" | "thinking" | "responding" | "tools" | "waiting" | "over"
  /** When this phase was first heard of, in milliseconds since 1970. */
  readonly since: number
  /** The end of what the answer says so far. */
  readonly text: string
  /** How many characters before that are not kept. */
  readonly dropped: number
  /** Why it ended, in a word for programs, if it failed. */
  readonly code: string | undefined
}

export const nothing: Live = {
  answers: 0,
  phase: "idle",
  since: 0,
  text: "",
  dropped: 0,
  code: undefined
}

const mostText = 20_000

const isAnswering = ({ phase }: Live): boolean => phase === "thinking" || phase === "responding"

const enter = (live: Live, phase: Live["phase"], now: number): Live =>
  live.phase === phase ? live : { ...live, phase, since: now }

const say = (live: Live, delta: string, now: number): Live => {
  // A retry tells an empty one, which belongs to no answer.
  if (delta === "") return live
  const text = live.text + delta
  const cut = Math.max(0, text.length - mostText)
  // Cutting at each piece would copy the whole text each time.
  const isCut = cut > mostText / 4
  return enter(
    isCut ? { ...live, text: text.slice(cut), dropped: live.dropped + cut } : { ...live, text },
    "responding",
    now
  )
}

/** With one event more. What was said by an answer that is begun again is void (docs/streams.md). */
export const next = (live: Live, { data, event }: RunEvent, now: number): Live => {
  switch (event) {
    case "status":
      if ("delta" in data) return say(live, data.delta, now)
      if (!("status" in data)) return live
      if (data.status === "waiting_approval") return enter(live, "waiting", now)
      return {
        ...live,
        answers: live.phase === "idle" || isAnswering(live) ? live.answers : live.answers + 1,
        phase: "thinking",
        since: now,
        text: "",
        dropped: 0,
        code: undefined
      }
    case "tool_call":
      return enter(live, "tools", now)
    case "tool_result":
      return enter(live, "tools", now)
    case "done":
      return enter(live, "over", now)
    case "error":
      return { ...enter(live, "over", now), code: "code" in data ? data.code : undefined }
    default:
      return live
  }
}

/** Whether the steps that a run has finished are others after this event. */
export const changesSteps = ({ data, event }: RunEvent): boolean =>
  event === "status" ? "status" in data && !("delta" in data) : event !== "conversation"
