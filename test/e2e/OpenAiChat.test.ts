import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import OpenAI from "openai"
import { makeAccount, makeNodes, type Nodes, onDatabase, startModel } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

const name = "OpenAI's client asks for chat completions of two nodes"

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let model: Awaited<ReturnType<typeof startModel>>
  let nodes: Nodes
  let token: string
  let jobs = 0

  beforeAll(async () => {
    model = await startModel(10)
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, model.env, { AGENTD_LEASE_SECONDS: "5" })
    await Promise.all([nodes.start(0), nodes.start(1)])
    token = (await makeAccount(url, nodes)).token
  })
  afterAll(async () => {
    await nodes?.stopAll()
    model?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  /** Each request that it sends goes to the next node; `lost` of the first answers are lost by the network. */
  const clientOf = (lost = 0) => {
    let sent = 0
    const client = new OpenAI({
      apiKey: token,
      baseURL: "http://agentd.test/v1",
      maxRetries: 2,
      fetch: async (input, init) => {
        const node = sent++
        const at = new URL(String(input).replace("http://agentd.test", nodes.server(node % 2).baseUrl))
        const response = await fetch(at, init)
        if (node >= lost) return response
        await response.text()
        throw new TypeError("the answer was lost")
      }
    })
    return { client, sent: () => sent }
  }
  const ask = (kind: string) => {
    const job = ++jobs
    const messages = [{ role: "user" as const, content: `job ${job} ${kind}` }]
    return { job, asked: { model: "default", messages } }
  }
  const questions = (job: number) => model.calls.filter((call) => call.job === job)
  const wordsOf = (job: number) =>
    questions(job)
      .at(-1)
      ?.words.map(({ word }) => word)
      .join("") ?? ""
  const turns = async (job: number) =>
    onDatabase(
      url,
      (sql) => sql<{ status: string; output: string }>`
        select status, output from runs where prompt like ${`job ${job} %`}`
    )

  it("streams and answers whole, with usage, through each of them", async () => {
    const { client } = clientOf()
    assert.deepStrictEqual(
      (await client.models.list()).data.map(({ id }) => id),
      ["default"]
    )
    const whole = ask("stream 3")
    const completion = await client.chat.completions.create(whole.asked)
    assert.strictEqual(completion.choices[0]?.message.content, wordsOf(whole.job))
    assert.deepInclude(completion.usage, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
    const streamed = ask("stream 5")
    const stream = client.chat.completions.stream({
      ...streamed.asked,
      stream_options: { include_usage: true }
    })
    assert.strictEqual(await stream.finalContent(), wordsOf(streamed.job))
    assert.strictEqual((await stream.totalUsage()).total_tokens, 15)
  })

  it("makes no second turn of what the client sends again by itself, to the other node", async () => {
    for (const stream of [false, true]) {
      const { client, sent } = clientOf(2)
      const { asked, job } = ask("stream 2")
      const text = stream
        ? await client.chat.completions.stream(asked).finalContent()
        : (await client.chat.completions.create(asked)).choices[0]?.message.content
      assert.strictEqual(sent(), 3)
      assert.strictEqual(text, wordsOf(job))
      assert.lengthOf(questions(job), 1)
      assert.lengthOf(await turns(job), 1)
    }
  })

  it("gives the whole answer though the node is killed that makes it", async () => {
    const { client, sent } = clientOf()
    const { asked, job } = ask("stream 20")
    const answer = client.chat.completions.create(asked)
    await until(() => (questions(job)[0]?.words.length ?? 0) > 3, "the answer has begun")
    const killed = questions(job)[0]?.node ?? 0
    assert.strictEqual(killed, 0)
    await nodes.kill(killed)
    await until(() => sent() > 1, "the client asks again")
    assert.strictEqual((await answer).choices[0]?.message.content, wordsOf(job))
    assert.deepStrictEqual(await turns(job), [{ status: "COMPLETED", output: wordsOf(job) }])
    await nodes.start(killed)
  })

  it("finishes the answer of who goes away", async () => {
    const { client } = clientOf()
    const { asked, job } = ask("stream 8")
    const gone = new AbortController()
    const answer = client.chat.completions.create(asked, { signal: gone.signal }).catch(() => "gone")
    await until(() => (questions(job)[0]?.words.length ?? 0) > 1, "the answer has begun")
    gone.abort()
    assert.strictEqual(await answer, "gone")
    await until(async () => (await turns(job))[0]?.status === "COMPLETED", "the turn has ended")
    assert.deepStrictEqual(await turns(job), [{ status: "COMPLETED", output: wordsOf(job) }])
    assert.lengthOf(questions(job), 1)
  })
})
