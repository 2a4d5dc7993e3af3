import { assert, describe, it } from "@effect/vitest"
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai"
import type { NumberedEvent, RunEvent } from "../../../src/Schemas/RunEvent.ts"
import { responding, thinking, toolAnswered, toolCalled } from "../../../src/Schemas/RunEvent.ts"
import { makeTelling } from "../../../src/Schemas/UiStream/Chunks.ts"

const messageId = "msg_1" as never
const say = (delta: string) => responding(messageId, delta)
const call = (id: string) => toolCalled({ id, name: "look", arguments: { at: id } })
const result = (id: string, isError = false) =>
  toolAnswered({ id, name: "look", result: `of ${id}`, isError, durationMs: 1 })
const done = (content: string): RunEvent => ({
  event: "done",
  data: {
    conversationId: "conv_1" as never,
    message: { id: messageId, role: "ASSISTANT", content, createdAt: new Date(0) },
    usage: { inputTokens: 1, outputTokens: 2 }
  }
})

const chunksOf = (...events: ReadonlyArray<RunEvent>) => {
  const telling = makeTelling({
    messageId: "msg_1",
    turnId: "turn_1",
    conversationId: "conv_1",
    agentId: null,
    isOfCaller: (tool) => tool === "page"
  })
  const numbered = events.map((event, index): NumberedEvent => ({ id: index + 1, event }))
  return [telling.start, ...numbered.flatMap((event) => telling.take(event))]
}

/** The message that the AI SDK's own client makes of it. */
const messageOf = async (...events: ReadonlyArray<RunEvent>): Promise<UIMessage> => {
  const chunks = chunksOf(...events) as unknown as ReadonlyArray<UIMessageChunk>
  let message: UIMessage | undefined
  const stream = ReadableStream.from(chunks) as unknown as Parameters<typeof readUIMessageStream>[0]["stream"]
  for await (const next of readUIMessageStream({ stream, terminateOnError: true })) message = next
  if (message === undefined) throw new Error("there is no message")
  return message
}

const partsOf = (message: UIMessage) =>
  message.parts.map((part) =>
    part.type === "text"
      ? part.text
      : part.type === "dynamic-tool"
        ? `${part.toolCallId} ${part.state}`
        : part.type
  )

describe("a UI message", () => {
  it("has a step for each answer of the model, with its text and its calls", async () => {
    const message = await messageOf(
      thinking,
      say("I "),
      say("look."),
      call("a"),
      call("b"),
      result("a"),
      result("b", true),
      thinking,
      say("Done."),
      done("I look.Done.")
    )
    assert.deepStrictEqual(partsOf(message), [
      "step-start",
      "I look.",
      "a output-available",
      "b output-error",
      "step-start",
      "Done."
    ])
    assert.strictEqual(message.id, "msg_1")
  })

  it("takes back what an execution said that was lost, and nothing that was finished", async () => {
    const message = await messageOf(
      thinking,
      say("I lo"),
      // Another node begins the answer anew, twice.
      thinking,
      thinking,
      say("I look."),
      call("a"),
      result("a"),
      thinking,
      say("It w"),
      thinking,
      // What was told may be told again.
      call("a"),
      result("a"),
      say("It is so."),
      done("I look.It is so.")
    )
    assert.deepStrictEqual(partsOf(message), [
      "step-start",
      "I look.",
      "a output-available",
      "step-start",
      "It is so."
    ])
  })

  it("is the reply where its events are forgotten", async () => {
    assert.deepStrictEqual(partsOf(await messageOf(done("All of it."))), ["step-start", "All of it."])
  })

  it("ends as the turn does", () => {
    const ends = (...events: ReadonlyArray<RunEvent>) => chunksOf(thinking, ...events).slice(-2)
    const cancelled: RunEvent = { event: "error", data: { code: "cancelled", error: "it was cancelled" } }
    assert.deepStrictEqual(ends(say("x"), cancelled), [
      { type: "finish-step" },
      { type: "abort", reason: "it was cancelled" }
    ])
    const failed: RunEvent = { event: "error", data: { code: "tool_unavailable", error: "no tool" } }
    assert.deepStrictEqual(ends(failed).at(-1), { type: "error", errorText: "no tool" })
    const page = toolCalled({ id: "p", name: "page", arguments: {} })
    assert.deepInclude(ends(page, done(""))[1], { finishReason: "tool-calls" })
    assert.deepInclude(ends(say("x"), done("x"))[1], { finishReason: "stop" })
    const told = chunksOf(thinking, page, call("a")).filter(({ type }) => type === "tool-input-available")
    assert.deepStrictEqual(
      told
        .map((chunk) => ({ ...chunk }) as { providerExecuted?: boolean })
        .map((chunk) => chunk.providerExecuted),
      [undefined, true]
    )
  })
})
