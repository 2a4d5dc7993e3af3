import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeAccount, makeNodes, startModel, startTools, untilIdle } from "../support/Durability.ts"
import { isInstalled, needed, type ShownSpan, startGenkit } from "../support/Genkit.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

const said = "the-words-of-the-prompt"
const name = `a collector that others have made shows one trace (${needed})`

describe.skipIf(!hasPostgres || !isInstalled)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  const nodeCount = 2
  let url: string
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let collector: Awaited<ReturnType<typeof startGenkit>>
  let nodes: ReturnType<typeof makeNodes>
  let account: Awaited<ReturnType<typeof makeAccount>>

  beforeAll(async () => {
    model = await startModel(0)
    tools = await startTools(0)
    collector = await startGenkit()
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, model.env, {
      AGENTD_LEASE_SECONDS: "5",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50"
    })
    await Promise.all(Array.from({ length: nodeCount }, (_, node) => nodes.start(node)))
    account = await makeAccount(url, nodes, tools.url)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    collector?.stop()
    model?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const traceOf = async (run: string): Promise<ReadonlyArray<ShownSpan>> => {
    for (const { traceId } of await collector.traces()) {
      const spans = await collector.spans(traceId)
      if (spans.some(({ attributes }) => attributes["agentd.run.id"] === run)) return spans
    }
    return []
  }
  const named = (spans: ReadonlyArray<ShownSpan>, begin: string) =>
    spans.filter(({ displayName }) => displayName.startsWith(begin))
  const sum = (spans: ReadonlyArray<ShownSpan>, key: string) =>
    spans.reduce((total, { attributes }) => total + Number(attributes[key]), 0)

  it("of a task whose node was killed at work, with its tokens and without its words", async () => {
    model.hold()
    const id = await account.submit(0, `job 1: ${said}`)
    await until(() => model.calls.some(({ step }) => step === 2), "its last question is asked")
    await until(async () => named(await traceOf(id), "execute_tool").length === 2, "its tools are told of")
    const working = model.calls.at(-1)?.node ?? -1
    await nodes.kill(working)
    model.release()
    await untilIdle(url)
    await until(async () => named(await traceOf(id), "invoke_agent").length > 0, "its end is told of")

    const spans = await traceOf(id)
    assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
    const [request] = spans.filter(({ spanKind }) => spanKind === "SERVER")
    assert.strictEqual(request?.displayName, "POST /api/tasks")
    assert.isUndefined(request?.parentSpanId)
    // That of the node that was killed was never over.
    const [execution, ...others] = named(spans, "invoke_agent")
    assert.deepStrictEqual(others, [])
    assert.strictEqual(execution?.parentSpanId, request?.spanId)
    assert.deepInclude(execution?.attributes, {
      "agentd.run.id": id,
      "agentd.run.epoch": 2,
      "agentd.run.status": "COMPLETED",
      "gen_ai.usage.input_tokens": 30,
      "gen_ai.usage.output_tokens": 15
    })
    const questions = named(spans, "chat mock")
    assert.strictEqual(questions.length, 3)
    assert.strictEqual(sum(questions, "gen_ai.usage.input_tokens"), 30)
    assert.strictEqual(sum(questions, "gen_ai.usage.output_tokens"), 15)
    assert.deepStrictEqual(
      named(spans, "execute_tool").map(({ attributes }) => attributes["gen_ai.tool.call.id"]),
      ["call_1_0", "call_1_1"]
    )
    assert.strictEqual(spans.length, 7, "and nothing else")
    // Below the request, below the execution that was killed, and below the one that followed.
    const parents = new Set(spans.flatMap(({ parentSpanId }) => parentSpanId ?? []))
    assert.strictEqual(parents.size, 3)

    const all = JSON.stringify([spans, await collector.logs()])
    for (const text of [said, "working on", "count ok", account.token]) assert.notInclude(all, text)
  })
})
