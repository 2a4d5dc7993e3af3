import { assert, describe, it } from "@effect/vitest"
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage
} from "ai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import { calls, finish, layerScripted, makeGate, ScriptedModel, says } from "../../support/Service.ts"
import { makeUi, textOf, toolsOf } from "../../support/UiChat.ts"
import { eventually } from "../../support/Until.ts"

const events = (...all: ReadonlyArray<InferenceEvent>) => Stream.fromIterable(all)

/** Each question is answered by the next of these; the last answers all that come. */
const answers = (model: ScriptedModel["Service"], ...scripts: ReadonlyArray<ReturnType<typeof says>>) => {
  const left = [...scripts]
  model.script = () => events(...((left.length > 1 ? left.shift() : left[0]) ?? says("ok")))
}

const subject = Effect.gen(function* () {
  const ui = yield* makeUi
  const model = yield* ScriptedModel
  const send = (chat: ReturnType<typeof ui.make>, text: string) =>
    Effect.promise(() => chat.sendMessage({ text }))
  return { ...ui, model, sendText: send }
})

const texts = (messages: ReadonlyArray<UIMessage>) =>
  messages.map((message) => `${message.role}: ${textOf(message)}`)

/** What of a message is told and stored alike. */
const told = ({ id, parts, role }: UIMessage) => ({
  id: role === "user" ? "" : id,
  role,
  parts: parts.map((part) => {
    const { approval: _, ...rest } = part as { approval?: unknown; type: string; text?: string }
    return JSON.parse(JSON.stringify(rest.type === "text" ? { type: "text", text: rest.text } : rest))
  })
})

describe("the UI message stream", () => {
  it.live("answers useChat in one conversation, which is stored as it was told", () =>
    Effect.gen(function* () {
      const { conversations, load, make, model, sendText, stream } = yield* subject
      const chat = make("mine")
      answers(model, calls("current_time"), says("It is ", "late."))
      yield* sendText(chat, "What time is it?")
      assert.isUndefined(chat.error)
      assert.strictEqual(chat.status, "ready")
      assert.strictEqual(textOf(chat.lastMessage), "It is late.")
      const [call] = toolsOf(chat.lastMessage)
      assert.strictEqual(call?.toolName, "current_time")
      assert.strictEqual(call?.state, "output-available")
      const metadata = chat.lastMessage?.metadata as { usage: object; turnId: string }
      assert.deepStrictEqual(metadata.usage, { inputTokens: 2, outputTokens: 4 })
      yield* sendText(chat, "Thanks")
      assert.lengthOf(yield* conversations, 1)
      const stored = yield* load("mine")
      assert.deepStrictEqual(stored.map(told), chat.messages.map(told))
      assert.strictEqual((yield* stream("mine")).status, 204)
      // The model is shown what is stored, whatever the client has made of it.
      const other = make("mine", { messages: [] })
      yield* sendText(other, "Again")
      const shown = model.requests.at(-1)?.messages.filter(({ role }) => role === "user")
      assert.lengthOf(shown ?? [], 3)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("speaks v1 of the protocol to its end", () =>
    Effect.gen(function* () {
      const { send, token } = yield* subject
      const answer = yield* send("POST", "/api/ui/default/chat", {
        token,
        json: {
          id: "c",
          messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }],
          trigger: "submit-message"
        }
      })
      assert.strictEqual(answer.headers.get("x-vercel-ai-ui-message-stream"), "v1")
      assert.strictEqual(answer.headers.get("content-type"), "text/event-stream")
      const lines = answer.text.split("\n\n").filter((line) => line.startsWith("data: "))
      assert.strictEqual(lines.at(-1), "data: [DONE]")
      const types = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)).type)
      assert.deepStrictEqual(types, [
        "start",
        "data-conversation",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish"
      ])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("is resumed from the beginning of the message, by a page that was loaded anew", () =>
    Effect.gen(function* () {
      const { load, make, model, requests } = yield* subject
      const gate = yield* makeGate
      model.script = () =>
        Stream.concat(
          events({ type: "text", delta: "Once " }),
          Stream.unwrap(Effect.as(gate.wait, events({ type: "text", delta: "upon a time." }, finish)))
        )
      const chat = make("story")
      const sent = chat.sendMessage({ text: "Tell" })
      yield* eventually(
        Effect.sync(() => textOf(chat.lastMessage) === "Once "),
        "the first words"
      )
      // The tab is closed: nothing is cancelled by that.
      yield* Effect.promise(() => chat.stop())
      yield* Effect.promise(() => sent)
      const again = make("story", { messages: yield* load("story") })
      const resumed = again.resumeStream()
      yield* eventually(
        Effect.sync(() => textOf(again.lastMessage) === "Once "),
        "the first words again"
      )
      yield* gate.open
      yield* Effect.promise(() => resumed)
      assert.deepStrictEqual(texts(again.messages), ["user: Tell", "assistant: Once upon a time."])
      assert.deepStrictEqual((yield* load("story")).map(told), again.messages.map(told))
      // Where nothing is under way, or there is no such chat yet, nothing is resumed, and nothing fails.
      yield* Effect.promise(() => again.resumeStream())
      const fresh = make("fresh")
      yield* Effect.promise(() => fresh.resumeStream())
      assert.strictEqual(`${again.status} ${fresh.status}`, "ready ready")
      assert.deepStrictEqual(
        requests.slice(-2).map(({ status }) => status),
        [204, 204]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("stops when it is told to, and keeps what was said until then in the page", () =>
    Effect.gen(function* () {
      const { load, make, model, sendText, stop } = yield* subject
      model.script = () => Stream.concat(events({ type: "text", delta: "On and " }), Stream.never)
      const chat = make("long")
      const sent = chat.sendMessage({ text: "Talk" })
      yield* eventually(
        Effect.sync(() => textOf(chat.lastMessage) === "On and "),
        "the first words"
      )
      assert.deepStrictEqual((yield* stop("long")).body, { stopped: true })
      yield* Effect.promise(() => sent)
      assert.strictEqual(chat.status, "ready")
      assert.strictEqual(textOf(chat.lastMessage), "On and ")
      assert.deepStrictEqual((yield* stop("long")).body, { stopped: false })
      assert.strictEqual((yield* stop("none")).status, 404)
      model.script = () => events(...says("Sorry"))
      yield* sendText(chat, "Enough")
      assert.strictEqual(chat.status, "ready")
      assert.deepStrictEqual(texts(yield* load("long")), ["user: Talk", "user: Enough", "assistant: Sorry"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("shows why it refuses as the error of the chat", () =>
    Effect.gen(function* () {
      const { make, model, sendText, user } = yield* subject
      const missing = make("a", { agent: "agent_none" })
      yield* sendText(missing, "Hi")
      assert.match(missing.error?.message ?? "", /^agentId: .*no agent/)
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, events(...says("ok"))))
      const chat = make("b")
      const first = chat.sendMessage({ text: "one" })
      yield* eventually(
        Effect.sync(() => model.requests.length === 1),
        "the question"
      )
      const other = make("b")
      yield* sendText(other, "two")
      assert.strictEqual(other.error?.message, "conversationId: still answering the message before")
      yield* gate.open
      yield* Effect.promise(() => first)
      yield* Effect.promise(() =>
        other.sendMessage({
          parts: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" }]
        })
      )
      assert.strictEqual(
        other.error?.message,
        "messages[1].parts[0].type: is not supported: a message is text"
      )
      assert.isDefined(user)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("tells a failure in the stream as the error of the chat, and answers again", () =>
    Effect.gen(function* () {
      const { load, make, model } = yield* subject
      model.script = () =>
        Stream.fail({ _tag: "InferenceError", reason: "authentication", error: "the key is wrong" } as never)
      const chat = make("f")
      yield* Effect.promise(() => chat.sendMessage({ text: "Hi" }))
      assert.match(chat.error?.message ?? "", /key is wrong/)
      answers(model, says("Hello"))
      yield* Effect.promise(() => chat.regenerate())
      assert.isUndefined(chat.error)
      assert.deepStrictEqual(texts(yield* load("f")), ["user: Hi", "assistant: Hello"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("answers a message again, and one that was changed, in the place of what came behind it", () =>
    Effect.gen(function* () {
      const { load, make, model, sendText } = yield* subject
      const chat = make("r")
      answers(model, says("1"), says("2"), says("3"), says("4"), says("5"), says("6"))
      yield* sendText(chat, "one")
      yield* sendText(chat, "two")
      yield* Effect.promise(() => chat.regenerate())
      assert.deepStrictEqual(texts(chat.messages), ["user: one", "assistant: 1", "user: two", "assistant: 3"])
      assert.deepStrictEqual((yield* load("r")).map(told), chat.messages.map(told))
      assert.lengthOf(model.requests.at(-1)?.messages ?? [], 3)
      // The message of the user is named by the client here, and by us after it was loaded.
      for (const from of [chat, make("r", { messages: yield* load("r") })]) {
        const id = from.messages[2]?.id ?? ""
        yield* Effect.promise(() => from.sendMessage({ text: "zwei", messageId: id }))
        assert.deepStrictEqual((yield* load("r")).map(told), from.messages.map(told))
      }
      const last = make("r", { messages: yield* load("r") })
      yield* Effect.promise(() => last.regenerate({ messageId: last.messages[1]?.id ?? "" }))
      assert.deepStrictEqual(texts(last.messages), ["user: one", "assistant: 6"])
      assert.deepStrictEqual((yield* load("r")).map(told), last.messages.map(told))
      // What is not stored so is not removed.
      const stranger = make("r", {
        messages: [{ id: "x", role: "user", parts: [{ type: "text", text: "other" }] }]
      })
      yield* Effect.promise(() => stranger.regenerate())
      assert.match(stranger.error?.message ?? "", /^messages: are not those that are stored/)
      assert.lengthOf(yield* load("r"), 2)
    }).pipe(Effect.provide(layerScripted()))
  )
})

const supervised = { body: { autonomyLevel: "supervised" } }

describe("approvals in the UI message stream", () => {
  const asking = {
    ...supervised,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  }

  it.live("asks in the page, and goes on in the same message", () =>
    Effect.gen(function* () {
      const { load, make, model, sendText } = yield* subject
      const chat = make("a", asking)
      answers(model, calls("current_time", "recall"), calls("current_time"), says("Done."))
      yield* sendText(chat, "Do it")
      assert.deepStrictEqual(
        toolsOf(chat.lastMessage).map(({ state }) => state),
        ["approval-requested", "approval-requested"]
      )
      const [time, recall] = toolsOf(chat.lastMessage).map(({ approval }) => approval?.id ?? "")
      yield* Effect.promise(async () => {
        await chat.addToolApprovalResponse({ id: time ?? "", approved: true })
        await chat.addToolApprovalResponse({ id: recall ?? "", approved: false, reason: "no" })
      })
      // The second question of the same turn.
      yield* eventually(
        Effect.sync(() => toolsOf(chat.lastMessage).length === 3 && chat.status === "ready"),
        "the next question"
      )
      const third = toolsOf(chat.lastMessage)[2]?.approval?.id ?? ""
      // By a page that was loaded anew.
      const again = make("a", { ...asking, messages: yield* load("a") })
      yield* Effect.promise(() => again.resumeStream())
      assert.deepStrictEqual(
        toolsOf(again.lastMessage).map(({ state }) => state),
        ["output-available", "output-denied", "approval-requested"]
      )
      assert.deepStrictEqual(
        toolsOf(again.lastMessage).map((part) => ({ ...part, approval: part.approval?.approved })),
        toolsOf(chat.lastMessage).map((part) => ({ ...part, approval: part.approval?.approved }))
      )
      yield* Effect.promise(async () => again.addToolApprovalResponse({ id: third, approved: true }))
      yield* eventually(
        Effect.sync(() => textOf(again.lastMessage) === "Done." && again.status === "ready"),
        "the end"
      )
      assert.lengthOf(again.messages, 2)
      assert.lengthOf(toolsOf(again.lastMessage), 3)
      const [, reply] = yield* load("a")
      assert.strictEqual(reply?.id, again.lastMessage?.id)
      assert.strictEqual(textOf(reply), "Done.")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.live("says what somebody else was faster to decide", () =>
    Effect.gen(function* () {
      const { make, model, send, sendText, token } = yield* subject
      const chat = make("a", asking)
      answers(model, calls("current_time"), says("As you like."))
      yield* sendText(chat, "Do it")
      const id = toolsOf(chat.lastMessage)[0]?.approval?.id ?? ""
      yield* send("POST", `/api/approvals/${id}`, { token, json: { decision: "reject", reason: "mine" } })
      yield* Effect.promise(async () => chat.addToolApprovalResponse({ id, approved: true }))
      yield* eventually(
        Effect.sync(() => textOf(chat.lastMessage) === "As you like." && chat.status === "ready"),
        "the end"
      )
      const [call] = toolsOf(chat.lastMessage)
      assert.strictEqual(call?.state, "output-denied")
      assert.deepStrictEqual([call?.approval?.approved, call?.approval?.reason], [false, "mine"])
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("tools of the page", () => {
  const tools = {
    place: { description: "Where the user is", inputSchema: { type: "object", properties: {} } }
  }

  it.live("are called by the model and executed by the page, in one message", () =>
    Effect.gen(function* () {
      const { load, make, model, sendText } = yield* subject
      answers(model, calls("current_time", "place"), says("In Bern."), says("Yes."))
      const called: Array<string> = []
      const chat = make("t", {
        body: { tools },
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
        onToolCall: ({ toolCall }) => {
          called.push(toolCall.toolName)
          void chat.addToolOutput({
            tool: "place",
            toolCallId: toolCall.toolCallId,
            output: { city: "Bern" }
          })
        }
      })
      yield* sendText(chat, "Where am I?")
      yield* eventually(
        Effect.sync(() => textOf(chat.lastMessage) === "In Bern." && chat.status === "ready"),
        "the answer"
      )
      assert.deepStrictEqual(called, ["place"])
      assert.lengthOf(chat.messages, 2)
      const stored = yield* load("t")
      assert.deepStrictEqual(stored.map(told), chat.messages.map(told))
      const shown = model.requests.at(-1)?.messages.at(-1)
      assert.deepInclude(shown?.role === "tool" ? shown.results.at(-1) : {}, { result: { city: "Bern" } })
      yield* sendText(chat, "Sure?")
      assert.strictEqual(textOf(chat.lastMessage), "Yes.")
      assert.lengthOf(chat.messages, 4)
    }).pipe(Effect.provide(layerScripted()))
  )
})
