import { describe, expect, it } from "vitest"
import { adviceOf, sentenceOf } from "../../console/src/views/Runs/Failure.ts"
import { changesSteps, type Live, next, nothing } from "../../console/src/views/Runs/Live.ts"
import { errorEvent } from "../../src/Schemas/ChatEvent.ts"
import {
  type RunEvent,
  responding,
  thinking,
  toolAnswered,
  toolCalled,
  waitingApproval
} from "../../src/Schemas/RunEvent.ts"

const says = (text: string) => responding(null, text)
const called = toolCalled({ id: "call_1", name: "recall", arguments: {} })
const answered = toolAnswered({ id: "call_1", name: "recall", result: [], isError: false, durationMs: 3 })

const told = (...events: ReadonlyArray<RunEvent>): Live =>
  events.reduce((live, event, index) => next(live, event, index + 1), nothing)

describe("what a run tells of what it does now", () => {
  it("is the text of the answer that is under way", () => {
    expect(told(thinking, says("Let me "), says("see"))).toEqual({
      answers: 0,
      phase: "responding",
      since: 2,
      text: "Let me see",
      dropped: 0,
      code: undefined
    })
  })

  it("begins a new answer behind tools, and the same one anew behind itself", () => {
    expect(told(thinking, says("a"), called, answered, thinking, says("b"))).toMatchObject({
      answers: 1,
      text: "b"
    })
    expect(told(thinking, says("a"), thinking, says("b"))).toMatchObject({ answers: 0, text: "b" })
    expect(told(thinking, called, waitingApproval("appr_1", "call_1"), answered, thinking).answers).toBe(1)
  })

  it("takes the empty piece that a retry tells for nothing", () => {
    expect(told(thinking, says("a"), called, says("")).phase).toBe("tools")
  })

  it("keeps the end of a long answer alone", () => {
    const live = told(thinking, ...Array.from({ length: 100 }, () => says("x".repeat(1_000))))
    expect(live.text.length).toBeLessThanOrEqual(25_000)
    expect(live.text.length + live.dropped).toBe(100_000)
  })

  it("ends with the reason", () => {
    expect(told(thinking, errorEvent("tool_unavailable", "no"))).toMatchObject({
      phase: "over",
      code: "tool_unavailable"
    })
  })

  it("says when the finished steps are others", () => {
    expect([thinking, called, answered, errorEvent("failed", "no")].map(changesSteps)).toEqual([
      true,
      true,
      true,
      true
    ])
    expect(changesSteps(says("a"))).toBe(false)
  })
})

describe("what can be done about a run that has failed", () => {
  it("is known of each reason, and a retry of any other", () => {
    expect(adviceOf("FAILED", "budget_exceeded")?.view?.path).toBe("settings")
    expect(adviceOf("FAILED", "tool_unavailable")?.view?.path).toBe("connectors")
    expect(adviceOf("FAILED", "something_new")?.isRetryUseful).toBe(true)
    expect(adviceOf("CANCELLED", undefined)).toBeDefined()
    expect(adviceOf("COMPLETED", undefined)).toBeUndefined()
  })

  it("is told behind a sentence", () => {
    expect(sentenceOf("internal error")).toBe("Internal error.")
    expect(sentenceOf("Is it? ")).toBe("Is it?")
    expect(sentenceOf("selectedProvider: there is no key")).toBe("selectedProvider: there is no key.")
    expect(sentenceOf("")).toBe("It failed.")
  })
})
