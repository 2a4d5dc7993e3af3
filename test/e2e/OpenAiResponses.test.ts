import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import OpenAI from "openai"
import { makeAccount, makeNodes, type Nodes, startModel, startTools } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

type Event = OpenAI.Responses.ResponseStreamEvent

/** Reads events as they come, and remembers how the stream ended. */
const reader = (stream: AsyncIterable<Event>) => {
  const events: Array<Event> = []
  let ended: "whole" | "broken" | undefined
  const end = (async () => {
    try {
      for await (const event of stream) events.push(event)
      ended = "whole"
    } catch {
      ended = "broken"
    }
    return ended
  })()
  return { events, end, ended: () => ended }
}

const numberOf = (event: Event | undefined): number =>
  event !== undefined && "sequence_number" in event ? event.sequence_number : -1

const deltas = (events: ReadonlyArray<Event>) =>
  events.filter((event) => event.type === "response.output_text.delta")

const assertGrowing = (events: ReadonlyArray<Event>, after = -1) => {
  let last = after
  for (const event of events) {
    assert.isAbove(numberOf(event), last, event.type)
    last = numberOf(event)
  }
}

/** The text of each message that came to its end, as the pieces of it make it. */
const textsOf = (events: ReadonlyArray<Event>): ReadonlyArray<string> => {
  const texts = new Map<string, string>()
  const done: Array<string> = []
  for (const event of events) {
    if (event.type === "response.output_text.delta") {
      texts.set(event.item_id, (texts.get(event.item_id) ?? "") + event.delta)
    }
    if (event.type === "response.output_item.done" && event.item.type === "message") {
      if (event.item.status === "completed") done.push(texts.get(event.item.id) ?? "")
    }
  }
  return done
}

const finalOf = (events: ReadonlyArray<Event>) => {
  const last = events.at(-1)
  assert(
    last?.type === "response.completed" ||
      last?.type === "response.incomplete" ||
      last?.type === "response.failed",
    last?.type
  )
  return last.response
}

const textOf = ({ output }: OpenAI.Responses.Response): string =>
  output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("")

const name = "responses of OpenAI outlive their nodes"

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  let jobs = 0

  beforeAll(async () => {
    model = await startModel(50)
    tools = await startTools(50)
    const url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, (node) => model.env(node), { AGENTD_LEASE_SECONDS: "10" })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes, tools.url)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    model?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const openai = (node: number, maxRetries = 0) =>
    new OpenAI({ apiKey: account.token, baseURL: `${nodes.server(node).baseUrl}/v1`, maxRetries })
  const asked = (job: number) => model.calls.filter((call) => call.job === job)

  const begin = async (node: number, kind: string) => {
    const job = ++jobs
    const body = { model: "default", input: `job ${job} ${kind}`, background: true } as const
    const read = reader(await openai(node).responses.create({ ...body, stream: true }))
    await until(() => read.events.length > 0, "the first event")
    const [first] = read.events
    assert(first?.type === "response.created")
    return { job, id: first.response.id, ...read }
  }
  const follow = async (node: number, id: string, after?: number) =>
    reader(
      await openai(node).responses.retrieve(id, {
        stream: true,
        ...(after !== undefined && { starting_after: after })
      })
    )
  const replay = async (node: number, id: string, after?: number) => {
    const read = await follow(node, id, after)
    assert.strictEqual(await read.end, "whole")
    return read.events
  }
  const storedReply = async (node: number, conversationId: string): Promise<string> => {
    const { data } = await account.client(node).json("GET", `/api/chat/conversations/${conversationId}`)
    return data.messages.at(-1).content
  }

  it("kill -9 in the middle of background responses", async () => {
    model.hold()
    const plain = await begin(0, "stream 50")
    const withTool = await begin(0, "count stream 50")
    const unread = await openai(0).responses.create({
      model: "default",
      input: `job ${++jobs} stream 50`,
      background: true
    })
    assert.include(["queued", "in_progress"], unread.status)
    const both = [plain, withTool]
    // These read on while the node dies that executes what they read.
    const besides = await Promise.all(both.map(({ id }) => follow(1, id)))
    const helper = openai(1).responses.stream({ response_id: plain.id }).finalResponse()
    await Promise.all(both.map(({ events }) => until(() => deltas(events).length >= 12, "some text")))
    assert.strictEqual(asked(plain.job)[0]?.node, 0)
    await nodes.kill(0)
    model.release()
    for (const { end } of both) assert.strictEqual(await end, "broken")

    const rests = await Promise.all(both.map(({ events, id }) => follow(1, id, numberOf(events.at(-1)))))
    const kept = await openai(1).responses.retrieve(plain.id)
    assert.strictEqual(kept.status, "in_progress")
    await until(() => both.every(({ job }) => asked(job).some(({ node }) => node === 1)), "it is taken up")
    await nodes.start(0)
    for (const [index, { events, id }] of both.entries()) {
      const [rest, beside] = [rests[index], besides[index]]
      assert(rest !== undefined && beside !== undefined)
      assert.strictEqual(await rest.end, "whole")
      assert.strictEqual(await beside.end, "whole")
      const final = finalOf(rest.events)
      assert.strictEqual(final.status, "completed")
      assert.deepStrictEqual(finalOf(beside.events), final)
      const text = await storedReply(1, final.conversation?.id ?? "")
      assert.isAbove(text.length, 100)
      const whole = await openai(0).responses.retrieve(id)
      assert.strictEqual(whole.output_text, text)
      assert.strictEqual(textOf(final), text)
      assertGrowing([...events, ...rest.events])
      assertGrowing(beside.events)
      assert.strictEqual(textsOf([...events, ...rest.events]).join(""), text)
      assert.strictEqual(textsOf(beside.events).join(""), text)
      // What is told again is the same on each node, from any event on.
      const all = await replay(0, id)
      assert.deepStrictEqual(await replay(1, id), all)
      assert.strictEqual(textsOf(all).join(""), text)
      for (const at of [0, 3, 20, all.length - 3]) {
        const after = numberOf(all[at])
        assert.deepStrictEqual(await replay(at % 2, id, after), all.slice(at + 1))
      }
      // Who read on while it was taken over has numbers of the same events.
      const taken = all.filter((event) => numberOf(event) >= 1_000_000)
      const seen = new Map(beside.events.map((event) => [numberOf(event), event]))
      for (const event of taken) {
        const other = seen.get(numberOf(event))
        if (other !== undefined) assert.deepStrictEqual(other, event)
      }
      assert.strictEqual(
        deltas(taken).every((event) => seen.has(numberOf(event))),
        true
      )
    }
    assert.strictEqual((await helper).output_text, (await openai(0).responses.retrieve(plain.id)).output_text)
    await until(async () => (await openai(1).responses.retrieve(unread.id)).status === "completed", "its end")
  })

  it("is cancelled on the other node", async () => {
    model.hold()
    const response = await begin(0, "stream 50")
    const beside = await follow(1, response.id)
    await until(() => deltas(response.events).length > 5, "some text")
    const cancelled = await openai(1).responses.cancel(response.id)
    model.release()
    assert.strictEqual(cancelled.status, "cancelled")
    assert.strictEqual(await response.end, "whole")
    assert.strictEqual(await beside.end, "whole")
    for (const read of [response, beside]) {
      assertGrowing(read.events)
      assert.strictEqual(finalOf(read.events).status, "cancelled")
    }
    assert.deepStrictEqual(await replay(0, response.id), await replay(1, response.id))
    const again = await openai(0).responses.cancel(response.id)
    assert.strictEqual(again.status, "cancelled")
  })

  it("goes on with the conversation on any node", async () => {
    const first = await openai(0).responses.create({ model: "default", input: `job ${++jobs} stream 3` })
    const second = await openai(1).responses.create({
      model: "default",
      input: `job ${++jobs} stream 3`,
      previous_response_id: first.id
    })
    assert.deepStrictEqual(second.conversation, first.conversation)
    assert.strictEqual(second.output_text, await storedReply(0, first.conversation?.id ?? ""))
  })
})
