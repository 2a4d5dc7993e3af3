import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import OpenAI from "openai"
import { calls, layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../../../support/Service.ts"
import { dataOf, makeWeb } from "../../../support/Web.ts"

type Event = OpenAI.Responses.ResponseStreamEvent

const subject = Effect.gen(function* () {
  const web = yield* makeWeb
  const tenant = yield* makeTenant()
  const model = yield* ScriptedModel
  const client = new OpenAI({
    apiKey: tenant.token,
    baseURL: "http://agentd.test/v1",
    fetch: web.fetch,
    maxRetries: 0
  })
  return { ...web, ...tenant, ...client, client, model }
})

const read = async (events: AsyncIterable<Event>): Promise<Array<Event>> => {
  const found: Array<Event> = []
  for await (const event of events) found.push(event)
  return found
}

const typesOf = (events: ReadonlyArray<Event>) => events.map(({ type }) => type.replace("response.", ""))

const failure = (promise: PromiseLike<unknown>): Effect.Effect<InstanceType<typeof OpenAI.APIError>> =>
  Effect.promise(async () => {
    try {
      await promise
    } catch (error) {
      if (error instanceof OpenAI.APIError) return error
      throw error
    }
    throw new Error("it was not refused")
  })

/** Lets time go on until it is there: what waits for people looks for their decisions. */
const inTime = Effect.fnUntraced(function* <A>(work: () => Promise<A>) {
  const fiber = yield* Effect.forkChild(Effect.promise(work))
  while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(50)
  return yield* Fiber.join(fiber)
})

/** What the model was shown last. */
const contentsOf = ({ requests }: ScriptedModel["Service"]) =>
  requests.at(-1)?.messages.map((message) => (message.role === "tool" ? "" : message.content)) ?? []

const hello = { model: "default", input: "hello" }

const weather: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "weather",
  description: "says how the weather is",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: true
}

describe("POST /v1/responses", () => {
  it.effect("answers, and the same is read again", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      model.script = () => Stream.fromIterable(says("Hel", "lo"))
      const response = yield* Effect.promise(() =>
        client.responses.create({ ...hello, metadata: { a: "b" }, temperature: 0.5, instructions: "be kind" })
      )
      assert.strictEqual(response.output_text, "Hello")
      assert.match(response.id, /^resp_[0-9a-z]{26}$/)
      assert.strictEqual(response.status, "completed")
      assert.deepStrictEqual(response.metadata, { a: "b" })
      assert.strictEqual(response.temperature, 0.5)
      assert.strictEqual(response.instructions, "be kind")
      assert.deepStrictEqual(response.usage?.total_tokens, 3)
      assert.match(response.conversation?.id ?? "", /^conv_/)
      assert.include(model.requests[0]?.system ?? "", "be kind")
      const again = yield* Effect.promise(() => client.responses.retrieve(response.id))
      assert.deepStrictEqual(again, response)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("tells its events in their order, and again behind any of them", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      model.script = () => Stream.fromIterable(says("Hel", "lo"))
      const events = yield* Effect.promise(async () =>
        read(await client.responses.create({ ...hello, stream: true }))
      )
      assert.deepStrictEqual(typesOf(events), [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed"
      ])
      assert.deepStrictEqual(
        events.map((event) => "sequence_number" in event && event.sequence_number),
        events.map((_, index) => index)
      )
      const last = events.at(-1)
      assert(last?.type === "response.completed")
      const whole = yield* Effect.promise(() => client.responses.retrieve(last.response.id))
      assert.deepStrictEqual(whole, { ...last.response, output_text: "Hello" })
      for (const after of [0, 4, 8, 9]) {
        const rest = yield* Effect.promise(async () =>
          read(await client.responses.retrieve(whole.id, { stream: true, starting_after: after }))
        )
        assert.deepStrictEqual(rest, events.slice(after + 1))
      }
      const helper = yield* Effect.promise(() =>
        client.responses.stream({ response_id: whole.id, starting_after: 3 }).finalResponse()
      )
      assert.strictEqual(helper.output_text, "Hello")
      const begun = yield* Effect.promise(() => client.responses.stream({ ...hello }).finalResponse())
      assert.strictEqual(begun.output_text, "Hello")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes on in the conversation, by the last response or by its id", () =>
    Effect.gen(function* () {
      const { client, model, send, token, workspaceId } = yield* subject
      const first = yield* Effect.promise(() =>
        client.responses.create({
          ...hello,
          instructions: "for this one",
          input: [
            { role: "developer", content: "for all" },
            { role: "user", content: "one" }
          ]
        })
      )
      const second = yield* Effect.promise(() =>
        client.responses.create({ ...hello, input: "two", previous_response_id: first.id })
      )
      assert.strictEqual(second.previous_response_id, first.id)
      const conversation = second.conversation?.id ?? ""
      yield* Effect.promise(() => client.responses.create({ ...hello, input: "three", conversation }))
      const asked = model.requests.at(-1)
      assert.deepStrictEqual(contentsOf(model), ["one", "ok", "two", "ok", "three"])
      assert.include(asked?.system ?? "", "for all")
      assert.notInclude(asked?.system ?? "", "for this one")
      // Behind one that is not the last it goes on in a copy; and so it does without being stored.
      const forked = yield* Effect.promise(() =>
        client.responses.create({ ...hello, input: "other", previous_response_id: first.id })
      )
      assert.notStrictEqual(forked.conversation?.id, conversation)
      assert.deepStrictEqual(contentsOf(model), ["one", "ok", "other"])
      assert.include(model.requests.at(-1)?.system ?? "", "for all")
      const hidden = yield* Effect.promise(() =>
        client.responses.create({ ...hello, input: "aside", conversation, store: false })
      )
      assert.isNull(hidden.conversation)
      assert.deepStrictEqual(contentsOf(model), ["one", "ok", "two", "ok", "three", "ok", "aside"])
      const last = yield* Effect.promise(() =>
        client.responses.create({ ...hello, input: "four", previous_response_id: hidden.id })
      )
      assert.deepStrictEqual(contentsOf(model).slice(-3), ["aside", "ok", "four"])
      assert.isNull(last.conversation)
      const listed = yield* send("GET", `/api/chat/conversations?workspaceId=${workspaceId}`, { token })
      assert.strictEqual(dataOf<ReadonlyArray<unknown>>(listed).length, 2)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("leaves calls of the caller's tools to the caller, and goes on with their results", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      model.script = ({ messages }) =>
        Stream.fromIterable(
          messages.some(({ role }) => role === "tool") ? says("it rains") : calls("weather")
        )
      const events = yield* Effect.promise(async () =>
        read(await client.responses.create({ ...hello, tools: [weather], stream: true }))
      )
      assert.deepStrictEqual(typesOf(events).slice(2), [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed"
      ])
      const last = events.at(-1)
      assert(last?.type === "response.completed")
      const [call] = last.response.output
      assert(call?.type === "function_call")
      assert.strictEqual(call.name, "weather")
      const next = yield* Effect.promise(() =>
        client.responses.create({
          ...hello,
          tools: [weather],
          previous_response_id: last.response.id,
          input: [{ type: "function_call_output", call_id: call.call_id, output: "rain" }]
        })
      )
      assert.strictEqual(next.output_text, "it rains")
      // The same with all that there is, as who keeps the conversation sends it.
      const whole = yield* Effect.promise(() =>
        client.responses.create({
          ...hello,
          tools: [weather],
          store: false,
          input: [
            { role: "user", content: "hello" },
            ...(last.response.output as Array<OpenAI.Responses.ResponseInputItem>),
            { type: "function_call_output", call_id: call.call_id, output: "rain" }
          ]
        })
      )
      assert.strictEqual(whole.output_text, "it rains")
      const referred = yield* Effect.promise(() =>
        client.responses.create({
          ...hello,
          input: [
            { role: "user", content: "hello" },
            { type: "item_reference", id: call.id ?? "" },
            { type: "function_call_output", call_id: call.call_id, output: "rain" }
          ]
        })
      )
      assert.strictEqual(referred.output_text, "it rains")
      assert.deepStrictEqual(
        model.requests.at(-1)?.messages.map(({ role }) => role),
        ["user", "assistant", "tool"]
      )
      const unknown = yield* failure(
        client.responses.create({
          ...hello,
          previous_response_id: next.id,
          input: [{ type: "function_call_output", call_id: call.call_id, output: "rain" }]
        })
      )
      assert.strictEqual(unknown.status, 400)
      assert.strictEqual(unknown.param, "input[0].call_id")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("shows the agent's own calls", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      model.script = ({ messages }) =>
        Stream.fromIterable(
          messages.some(({ role }) => role === "tool") ? says("late") : calls("current_time")
        )
      const response = yield* Effect.promise(() => client.responses.stream({ ...hello }).finalResponse())
      assert.deepStrictEqual(
        response.output.map((item) => [item.type, "status" in item && item.status]),
        [
          ["mcp_call", "completed"],
          ["message", "completed"]
        ]
      )
      assert.strictEqual(response.output_text, "late")
      assert.deepStrictEqual(
        (yield* Effect.promise(() => client.responses.retrieve(response.id))).output.map(({ id }) => id),
        response.output.map(({ id }) => id)
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers in the background, and is cancelled", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      const gate = yield* makeGate
      model.script = () => Stream.fromEffectDrain(gate.wait)
      const response = yield* Effect.promise(() => client.responses.create({ ...hello, background: true }))
      assert.include(["queued", "in_progress"], response.status)
      assert.strictEqual(response.background, true)
      const cancelled = yield* Effect.promise(() => client.responses.cancel(response.id))
      assert.strictEqual(cancelled.status, "cancelled")
      assert.strictEqual(
        (yield* Effect.promise(() => client.responses.cancel(response.id))).status,
        "cancelled"
      )
      const events = yield* Effect.promise(async () =>
        read(await client.responses.retrieve(response.id, { stream: true }))
      )
      const last = events.at(-1)
      assert(last?.type === "response.incomplete")
      assert.strictEqual(last.response.status, "cancelled")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("ends with a question to people, and goes on with the answer in another response", () =>
    Effect.gen(function* () {
      const { client, model, send, token, workspaceId } = yield* subject
      const made = yield* send("POST", "/api/agents", { token, json: { workspaceId, name: "careful" } })
      const { id } = dataOf<{ readonly id: string }>(made)
      yield* send("PUT", `/api/agents/${id}/policy`, { token, json: { autonomyLevel: "supervised" } })
      model.script = ({ messages }) =>
        Stream.fromIterable(
          messages.some(({ role }) => role === "tool") ? says("late") : calls("current_time", "recall")
        )
      const ask = { model: "careful", input: "what time is it?" }
      const asked = yield* Effect.promise(() => client.responses.stream(ask).finalResponse())
      assert.deepStrictEqual(
        asked.output.map(({ type }) => type),
        ["mcp_approval_request"]
      )
      const [question] = asked.output
      assert(question?.type === "mcp_approval_request")
      assert.deepStrictEqual([question.server_label, question.name], ["agentd", "current_time"])
      const busy = yield* failure(client.responses.create({ ...ask, previous_response_id: asked.id }))
      assert.strictEqual(busy.status, 409)
      const answer = (previous: string, approval: string, approve: boolean) => ({
        model: "careful",
        previous_response_id: previous,
        input: [{ type: "mcp_approval_response" as const, approval_request_id: approval, approve }]
      })
      const wrong = yield* failure(client.responses.create(answer(asked.id, "appr_nothing", true)))
      assert.deepStrictEqual([wrong.status, wrong.param], [400, "input[0].approval_request_id"])
      const second = yield* Effect.promise(() => client.responses.create(answer(asked.id, question.id, true)))
      assert.strictEqual(second.id, `${asked.id}_2`)
      assert.strictEqual(second.previous_response_id, asked.id)
      const [other] = second.output
      assert(other?.type === "mcp_approval_request")
      assert.strictEqual(other.name, "recall")
      const last = yield* inTime(() =>
        client.responses.stream(answer(second.id, other.id, false)).finalResponse()
      )
      assert.strictEqual(last.id, `${asked.id}_3`)
      assert.strictEqual(last.output_text, "late")
      assert.deepStrictEqual(
        last.output.map((item) => [
          item.type,
          "status" in item && item.status,
          "approval_request_id" in item && item.approval_request_id
        ]),
        [
          ["mcp_call", "completed", question.id],
          ["mcp_call", "failed", other.id],
          ["message", "completed", false]
        ]
      )
      // Who asks again, since the answer was lost, gets the same.
      const again = yield* Effect.promise(() => client.responses.create(answer(second.id, other.id, false)))
      assert.deepStrictEqual(again, yield* Effect.promise(() => client.responses.retrieve(last.id)))
      assert.deepStrictEqual(yield* Effect.promise(() => client.responses.retrieve(second.id)), second)
      const next = yield* Effect.promise(() =>
        client.responses.create({ ...ask, previous_response_id: last.id })
      )
      assert.strictEqual(next.output_text, "late")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("names what it refuses", () =>
    Effect.gen(function* () {
      const { client } = yield* subject
      const refused = [
        [{ input: "hello" }, "model", "missing_required_parameter"],
        [{ model: "default" }, "input", "missing_required_parameter"],
        [{ ...hello, n: 2 }, "n", "unknown_parameter"],
        [{ ...hello, reasoning: { effort: "low" } }, "reasoning", "unsupported_parameter"],
        [{ ...hello, include: ["message.output_text.logprobs"] }, "include", "unsupported_parameter"],
        [{ ...hello, truncation: "disabled" }, "truncation", "unsupported_parameter"],
        [{ ...hello, tools: [{ type: "web_search" }] }, "tools[0].type", "unsupported_parameter"],
        [{ ...hello, input: [{ type: "computer_call" }] }, "input[0].type", "unsupported_parameter"],
        [
          { ...hello, input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] },
          "input[0].content[0].type",
          "unsupported_parameter"
        ],
        [{ ...hello, previous_response_id: "resp_nothing" }, "previous_response_id", "invalid_input"],
        [{ ...hello, conversation: "conv_nothing" }, "conversation", "invalid_input"],
        [{ ...hello, input: [{ type: "item_reference", id: "msg_0_0" }] }, "input[0].id", "invalid_input"],
        [{ ...hello, metadata: { a: 1 } }, "metadata", "invalid_input"]
      ] as const
      for (const [body, param, code] of refused) {
        const error = yield* failure(client.responses.create(body as never))
        assert.deepStrictEqual([error.status, error.param, error.code], [400, param, code])
      }
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("takes no more by reference than a request could say itself", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      model.script = () => Stream.fromIterable(says("a".repeat(100_000)))
      const { output } = yield* Effect.promise(() => client.responses.create(hello))
      const reference = { type: "item_reference", id: output[0]?.id ?? "" } as const
      const referring = (count: number) =>
        client.responses.create({
          ...hello,
          input: [...Array<typeof reference>(count).fill(reference), { role: "user", content: "go on" }]
        })
      assert.strictEqual((yield* Effect.promise(() => referring(10))).status, "completed")
      const refused = yield* failure(referring(2_000 - 1))
      assert.deepStrictEqual([refused.status, refused.param], [400, "input"])
      assert.lengthOf(model.requests, 2)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("shows nobody the responses of others", () =>
    Effect.gen(function* () {
      const { client } = yield* subject
      const other = (yield* subject).client
      const { id } = yield* Effect.promise(() => client.responses.create(hello))
      for (const asked of [
        () => other.responses.retrieve(id),
        () => other.responses.retrieve(id, { stream: true }),
        () => other.responses.cancel(id),
        () => other.responses.delete(id),
        () => client.responses.retrieve(`${id}_2`),
        () => client.responses.retrieve("resp_")
      ]) {
        assert.strictEqual((yield* failure(asked())).status, 404)
      }
      yield* Effect.promise(() => client.responses.delete(id))
      assert.strictEqual((yield* failure(client.responses.retrieve(id))).status, 404)
    }).pipe(Effect.provide(layerScripted()))
  )
})
