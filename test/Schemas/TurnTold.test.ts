import { assert, describe, it } from "@effect/vitest"
import type { MessageId } from "../../src/Schemas/Ids.ts"
import { type RunEvent, responding, thinking, toolAnswered, toolCalled } from "../../src/Schemas/RunEvent.ts"
import { nothingToldOn, toldOn } from "../../src/Schemas/TurnTold.ts"

const says = (delta: string) => responding("msg_1" as MessageId, delta)
const call = (id: string) => toolCalled({ id, name: "f", arguments: { id } })
const result = (id: string) => toolAnswered({ id, name: "f", result: "ok", isError: false, durationMs: 1 })
const done = (content: string): RunEvent => ({
  event: "done",
  data: {
    conversationId: "conv_1" as never,
    message: { id: "msg_1" as MessageId, role: "ASSISTANT", content, createdAt: new Date(0) },
    usage: { inputTokens: 0, outputTokens: 0 }
  }
})

/** What was told on, piece by piece, and where that ended. */
const told = (...events: ReadonlyArray<RunEvent>) => {
  let state = nothingToldOn
  const pieces: Array<string> = []
  for (const [id, event] of events.entries()) {
    const [next, piece] = toldOn(state, { id, event })
    state = next
    if (piece !== "") pieces.push(piece)
  }
  return { pieces, text: state.text, calls: [...state.calls.keys()], isBroken: state.isBroken }
}

describe("what a turn told, told on", () => {
  it("is each piece once, over the answers before and behind tools", () => {
    assert.deepStrictEqual(
      told(
        thinking,
        says("a"),
        says("b"),
        call("1"),
        call("2"),
        result("1"),
        thinking,
        says("c"),
        done("abc")
      ),
      { pieces: ["a", "b", "c"], text: "abc", calls: ["2"], isBroken: false }
    )
  })

  it("is what is new of an answer that is begun again with the same words", () => {
    assert.deepStrictEqual(
      told(
        thinking,
        says("x "),
        call("1"),
        result("1"),
        thinking,
        says("one "),
        says("two "),
        thinking,
        says("on"),
        says("e two three"),
        done("x one two three")
      ),
      { pieces: ["x ", "one ", "two ", "three"], text: "x one two three", calls: [], isBroken: false }
    )
  })

  it("is broken off where an answer is begun again with other words, and its text is the last one all the same", () => {
    assert.deepStrictEqual(
      told(
        thinking,
        says("one two"),
        thinking,
        says("one "),
        says("three"),
        says(" four"),
        done("one three four")
      ),
      {
        pieces: ["one two"],
        text: "one three four",
        calls: [],
        isBroken: true
      }
    )
    assert.isTrue(told(thinking, says("one two"), thinking, says("one"), done("one")).isBroken)
  })

  it("is the whole text, where the end alone is known", () => {
    assert.deepStrictEqual(told(done("all")), { pieces: ["all"], text: "all", calls: [], isBroken: false })
  })
})
