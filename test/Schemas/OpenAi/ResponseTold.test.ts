import { assert, describe, it } from "@effect/vitest"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { itemIdOf, keyOfItem, responseIdOf, responseKeyOf } from "../../../src/Schemas/OpenAi/ResponseId.ts"
import {
  makeResponseTold,
  numbersOfRange,
  type ResponseEvent
} from "../../../src/Schemas/OpenAi/ResponseTold.ts"
import {
  type NumberedEvent,
  type RunEvent,
  responding,
  stride,
  thinking,
  toolAnswered,
  toolCalled,
  waitingApproval
} from "../../../src/Schemas/RunEvent.ts"

const turnId = "turn_01abc" as RunId
const key = { turnId, leg: 1 }
const none: ReadonlySet<string> = new Set()

const begin: RunEvent = {
  event: "conversation",
  data: {
    conversationId: "conv_1",
    title: "t",
    agentId: null,
    messageId: "msg_1",
    turnId,
    created: true
  } as never
}
const say = (delta: string) => responding("msg_2" as never, delta)
const call = (id: string) => toolCalled({ id, name: "docs__write", arguments: { a: 1 } })
const result = (id: string) =>
  toolAnswered({ id, name: "docs__write", result: "ok", isError: false, durationMs: 1 })
const cancelled: RunEvent = { event: "error", data: { error: "the answer was cancelled", code: "cancelled" } }

/** Events with ids from one on. */
const from = (id: number, ...events: ReadonlyArray<RunEvent>): ReadonlyArray<NumberedEvent> =>
  events.map((event, index) => ({ id: id + index, event }))

const tell = (events: ReadonlyArray<NumberedEvent>, leg = 1, tools = none) => {
  const fold = makeResponseTold({ turnId, leg }, tools, false)
  const told = events.flatMap((event) => fold.take(event))
  return { fold, told }
}
const shortOf = ({ item, sequence, type }: ResponseEvent) =>
  `${sequence} ${type.replace("response.", "")}${item === undefined ? "" : ` ${item.index}`}`

describe("what a response tells", () => {
  it("numbers its events one after the other", () => {
    const { fold, told } = tell(
      from(1, begin, thinking, say("a"), say("b"), call("c"), result("c"), thinking, say("d"))
    )
    assert.deepStrictEqual(
      told.map(({ sequence }) => sequence),
      told.map((_, index) => index)
    )
    assert.deepStrictEqual(
      fold.output().map(({ id, type }) => [type, id]),
      [
        ["message", "msg_01abc_0"],
        ["mcp_call", "mcp_01abc_1"],
        ["message", "msg_01abc_2"]
      ]
    )
  })

  it("begins again behind all that was told, where another execution goes on", () => {
    const lost = from(1, begin, thinking, say("a"))
    const kept = lost.slice(0, 1)
    const taken = from(stride + 1, thinking, say("b"), say("c"))
    const { fold, told } = tell([...kept, ...taken])
    assert.deepStrictEqual(told.map(shortOf), [
      "0 created",
      `${numbersOfRange} in_progress`,
      `${numbersOfRange + 1} output_item.added 0`,
      `${numbersOfRange + 2} output_item.done 0`,
      `${numbersOfRange + 3} output_item.added 1`,
      `${numbersOfRange + 4} content_part.added 1`,
      `${numbersOfRange + 5} output_text.delta 1`,
      `${numbersOfRange + 6} output_text.delta 1`
    ])
    // What was begun there is taken back: it has the id of what the lost one told.
    const begun = tell(lost).told.find(({ type }) => type === "response.output_item.added")
    assert.deepStrictEqual(begun?.item?.more.item_id ?? begun?.item?.index, 0)
    assert.deepInclude(told[3]?.item?.more.item as object, {
      id: "msg_01abc_0",
      status: "incomplete",
      content: []
    })
    assert.deepStrictEqual(
      fold.output().map(({ content, id }) => [id, content]),
      [["msg_01abc_1", [{ type: "output_text", annotations: [], logprobs: [], text: "bc" }]]]
    )
  })

  it("has the same numbers for deltas that come joined", () => {
    const one = from(1, begin, thinking, say("a"), say("b"), say("c"), call("c"))
    const other = [...from(1, begin, thinking), { id: 5, event: say("abc") }, ...from(6, call("c"))]
    const [apart, joined] = [tell(one).told, tell(other).told]
    assert.deepStrictEqual(
      joined.map(shortOf),
      apart.map(shortOf).filter((_, index) => index !== 4 && index !== 5)
    )
  })

  it("passes over as many items as executions were lost since the model was asked", () => {
    const all = [
      ...from(1, begin, thinking, say("a"), call("c")),
      ...from(2 * stride + 1, result("c"), thinking, say("d")),
      ...from(3 * stride + 1, thinking, say("e"))
    ]
    const withoutVoid = all.filter(({ id }) => id <= 2 * stride + 1 || id > 3 * stride)
    const one = tell(withoutVoid).told
    const passed = one
      .filter(({ type }) => type === "response.output_item.added")
      .map(({ item }) => item?.index)
    assert.deepStrictEqual(passed, [0, 1, 2, 3, 4, 5])
    // Who read the void answer saw it at one of the places that are passed over.
    const seen = tell(all.slice(0, 7)).told.at(-1)
    assert.strictEqual(seen?.item?.index, 4)
  })

  it("ends a leg where it waits, and begins the next behind it", () => {
    const events = from(
      1,
      begin,
      thinking,
      call("a"),
      call("b"),
      waitingApproval("appr_1", "b"),
      result("a"),
      result("b"),
      thinking,
      say("x")
    )
    const first = tell(events)
    assert.deepInclude(first.fold.end(), { status: "completed" })
    assert.strictEqual(first.fold.question(), "appr_1")
    assert.deepStrictEqual(first.fold.output(), [
      {
        id: "appr_1",
        type: "mcp_approval_request",
        server_label: "docs",
        name: "write",
        arguments: '{"a":1}'
      }
    ])
    const second = tell(events, 2)
    assert.deepStrictEqual(
      second.fold.output().map(({ approval_request_id, id, type }) => [type, id, approval_request_id]),
      [
        ["mcp_call", "mcp_01abc_2_0", null],
        ["mcp_call", "mcp_01abc_2_1", "appr_1"],
        ["message", "msg_01abc_2_2", undefined]
      ]
    )
    assert.isFalse(tell(events, 3).fold.hasBegun())
  })

  it("ends what was cancelled behind all that may have been told", () => {
    const { fold, told } = tell([...from(1, begin, thinking, say("a")), ...from(stride, cancelled)])
    assert.deepStrictEqual(told.slice(-4).map(shortOf), [
      `${numbersOfRange} output_text.done 0`,
      `${numbersOfRange + 1} content_part.done 0`,
      `${numbersOfRange + 2} output_item.done 0`,
      `${numbersOfRange + 3} incomplete`
    ])
    assert.deepInclude(fold.end(), { status: "cancelled" })
    assert.deepInclude(fold.output()[0], { status: "incomplete" })
  })

  it("says of a stream that has ended nothing of the response", () => {
    const stopping: RunEvent = { event: "error", data: { error: "stopping", code: "unavailable" } }
    const { fold, told } = tell(from(1, begin, thinking, say("a"), stopping))
    assert.deepInclude(fold.end(), { status: "broken", code: "unavailable" })
    assert.strictEqual(told.at(-1)?.type, "response.output_text.delta")
  })
})

describe("ids of responses and items", () => {
  it("are of the turn, its leg and the place of an item", () => {
    for (const leg of [1, 2, 13]) {
      const given = { turnId, leg }
      assert.deepStrictEqual(responseKeyOf(responseIdOf(given)), given)
      assert.deepStrictEqual(keyOfItem(itemIdOf("msg", given, 7)), given)
    }
    assert.strictEqual(responseIdOf(key), "resp_01abc")
    for (const id of [
      "",
      "resp_",
      "turn_01abc",
      "resp_01abc_1x",
      "resp_01abc_0",
      "resp_01ABC",
      "msg_01abc"
    ]) {
      assert.isUndefined(responseKeyOf(id))
      assert.isUndefined(keyOfItem(id))
    }
  })
})
