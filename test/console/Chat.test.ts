import { describe, expect, it } from "@effect/vitest"
import { blocksOf } from "../../console/src/views/Chat/Blocks.ts"
import { isLatest, isOver, next, sending, type Turn } from "../../console/src/views/Chat/Turn.ts"
import { MessageId, RunId } from "../../src/Schemas/Ids.ts"
import {
  type RunEvent,
  responding,
  thinking,
  toolCalled,
  waitingApproval
} from "../../src/Schemas/RunEvent.ts"

const reply = MessageId.make("msg_1")
const said = (delta: string): RunEvent => responding(reply, delta)
const called: RunEvent = toolCalled({ id: "c1", name: "recall", arguments: {} })
const answered: RunEvent = {
  event: "tool_result",
  data: { id: "c1", name: "recall", result: [1], isError: false, durationMs: 7 }
}
const told = (...events: ReadonlyArray<RunEvent>): Turn => events.reduce(next, sending)
const textOf = ({ parts }: Turn) => parts.map((part) => (part.type === "text" ? part.text : part.uses.length))

describe("an answer as it comes about", () => {
  it("is what was said and called, in order", () => {
    const turn = told(thinking, said("Let "), said("me see"), called, answered, thinking, said("One."))
    expect(textOf(turn)).toEqual(["Let me see", 1, "One."])
    expect(turn.parts[1]).toEqual({
      type: "tools",
      uses: [
        { id: "c1", name: "recall", arguments: {}, result: { value: [1], isError: false, durationMs: 7 } }
      ]
    })
    expect([turn.phase, isOver(turn)]).toEqual(["responding", false])
  })

  it("forgets what was said by an answer of the model that is begun again, and nothing before it", () => {
    expect(textOf(told(thinking, said("One"), thinking, said("Two")))).toEqual(["Two"])
    const later = told(thinking, said("A"), called, answered, thinking, said("B"), thinking, said("C"))
    expect(textOf(later)).toEqual(["A", 1, "C"])
  })

  it("has a call once that is told twice", () => {
    expect(textOf(told(thinking, called, called, answered, answered))).toEqual([1])
  })

  it("waits for an approval until something happens", () => {
    const waiting = told(thinking, called, waitingApproval("appr_1", "c1"))
    expect([waiting.phase, waiting.approvalId]).toEqual(["waiting", "appr_1"])
    expect(next(waiting, answered).approvalId).toBeUndefined()
  })

  it("ends with its stored reply, or with why there is none", () => {
    const data = {
      conversationId: "conv_1",
      message: { id: reply, role: "ASSISTANT", content: "Hi", createdAt: new Date(0) },
      usage: { inputTokens: 1, outputTokens: 1 }
    }
    const done = next(told(thinking, said("Hi")), { event: "done", data } as RunEvent)
    expect([done.phase, done.replyId]).toEqual(["done", reply])
    const failed = told(thinking, { event: "error", data: { error: "too long", code: "output_exceeded" } })
    expect(failed.error).toEqual({ code: "output_exceeded", sentence: "too long" })
    expect(isOver(failed)).toBe(true)
  })

  it("takes no notice of the end of a task", () => {
    const data = { runId: RunId.make("run_1"), output: "x", usage: { inputTokens: 1, outputTokens: 1 } }
    expect(next(told(thinking), { event: "done", data }).replyId).toBeUndefined()
  })
})

describe("an answer that was taken up", () => {
  const asked = { id: "m1", role: "USER" } as const

  it("comes behind the message that it answers, or that it can't be told from yet", () => {
    expect(isLatest(asked, "m1")).toBe(true)
    expect(isLatest(asked, undefined)).toBe(true)
  })

  it("is not shown beside its stored reply, nor behind what was said since, nor before anything is known", () => {
    expect(isLatest({ id: "m2", role: "ASSISTANT" }, "m1")).toBe(false)
    expect(isLatest({ id: "m3", role: "USER" }, "m1")).toBe(false)
    expect(isLatest(undefined, "m1")).toBe(false)
  })
})

describe("the blocks of a text", () => {
  it("are words, and code between fences", () => {
    expect(blocksOf("See:\n```ts\nconst a = 1\n\n```\nDone")).toEqual([
      { type: "text", text: "See:", language: "" },
      { type: "code", text: "const a = 1\n", language: "ts" },
      { type: "text", text: "Done", language: "" }
    ])
  })

  it("end with code that is not closed yet", () => {
    expect(blocksOf("~~~\na\n```\nb")).toEqual([{ type: "code", text: "a\n```\nb", language: "" }])
  })

  it("take a fence within a line, or a longer one within code, for text", () => {
    expect(blocksOf("use ```x``` here")).toEqual([{ type: "text", text: "use ```x``` here", language: "" }])
    expect(blocksOf("````\n```\n````")).toEqual([{ type: "code", text: "```", language: "" }])
  })

  it("of nothing are none", () => expect(blocksOf("\n \n")).toEqual([]))
})
