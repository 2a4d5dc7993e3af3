import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { InferenceError, type InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { RunStatus } from "../../../src/Schemas/Run.ts"
import { executionSpanId, readTraceparent } from "../../../src/Schemas/TraceContext.ts"
import { Agents } from "../../../src/Services/Agents.ts"
import { Approvals } from "../../../src/Services/Approvals.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { betweenPolls, layerFaulty, startMortal, startNode } from "../../support/Engine.ts"
import { makeLog } from "../../support/Log.ts"
import { finish, layerScripted, makeTenant, ScriptedModel, says } from "../../support/Service.ts"
import { attributesOf, errorOf, isEnded, makeTraces, parentOf } from "../../support/Traces.ts"
import { dataOf, makeWeb } from "../../support/Web.ts"

/** In every text that a user, model or tool gives. */
const secret = "xyzzy"

const remember = {
  type: "tool_call",
  call: { id: "c1", name: "remember", arguments: { key: secret, value: secret } }
} as const

const incoming = { trace: "4bf92f3577b34da6a3ce929d0e0e4736", span: "00f067aa0ba902b7" }
const traceparent = `00-${incoming.trace}-${incoming.span}-01`

const until = Effect.fnUntraced(function* (id: RunId, ...statuses: ReadonlyArray<RunStatus>) {
  const repo = yield* RunRepo
  while (true) {
    const run = Option.getOrThrow(yield* repo.find(id))
    if (statuses.includes(run.status)) return run
    yield* TestClock.adjust(1)
  }
})

/** A model that calls a tool and then says what came of it; each answer costs 1 and 2 tokens. */
const callsOnce = Effect.map(ScriptedModel, (model) => {
  model.script = ({ messages }) =>
    Stream.fromIterable<InferenceEvent>(
      messages.at(-1)?.role === "tool" ? says(secret) : [{ type: "text", delta: secret }, remember, finish]
    )
})

/** Sends a task, and gives its id. */
const subject = Effect.gen(function* () {
  yield* Layer.build(Engine.layerTasks)
  yield* callsOnce
  const { send } = yield* makeWeb
  const tenant = yield* makeTenant()
  const { token, workspaceId } = tenant
  const task = (given: object = {}, headers: Readonly<Record<string, string>> = {}) =>
    Effect.map(
      send("POST", "/api/tasks", { token, headers, json: { workspaceId, prompt: secret, ...given } }),
      (answer) => ({ id: dataOf<{ id: RunId }>(answer).id, requestId: answer.headers.get("x-request-id") })
    )
  return { ...tenant, send, task }
})

describe("the spans of a run", () => {
  it.effect("are of one trace, from the request to each question and call, and tell no text", () => {
    const traces = makeTraces()
    const log = makeLog()
    return Effect.gen(function* () {
      const { task, user, workspaceId } = yield* subject
      const agent = yield* (yield* Agents).create(user, { workspaceId, name: "Scout", systemPrompt: secret })
      const { id, requestId } = yield* task({ agentId: agent.id }, { traceparent })
      const run = yield* until(id, "COMPLETED")
      const [server] = traces.named(/^POST$/)
      assert.deepInclude(attributesOf(server), { "agentd.request.id": requestId, "agentd.run.id": id })
      assert.strictEqual(parentOf(server)?.spanId, incoming.span)
      assert.strictEqual(run.traceparent, `00-${incoming.trace}-${server?.spanId}-01`)
      const [execution] = traces.named(/^invoke_agent/)
      assert.deepStrictEqual(parentOf(execution)?.spanId, server?.spanId)
      assert.deepStrictEqual(attributesOf(execution), {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": agent.id,
        "gen_ai.agent.name": "Scout",
        "agentd.run.id": id,
        "agentd.run.kind": "task",
        "agentd.run.epoch": 1,
        "agentd.workspace.id": workspaceId,
        "gen_ai.usage.input_tokens": 2,
        "gen_ai.usage.output_tokens": 4,
        "agentd.run.status": "COMPLETED"
      })
      const inside = traces.spans().filter((span) => parentOf(span)?.spanId === execution?.spanId)
      assert.deepStrictEqual(
        inside.map(({ name }) => name).filter((name) => /^(chat|execute)/.test(name)),
        ["chat scripted", "execute_tool remember", "chat scripted"]
      )
      assert.deepStrictEqual(attributesOf(inside.find(({ name }) => /^chat/.test(name))), {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "offline",
        "gen_ai.request.model": "scripted",
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.usage.output_tokens": 2
      })
      assert.deepStrictEqual(attributesOf(inside.find(({ name }) => /^execute/.test(name))), {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "remember",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function"
      })
      assert.strictEqual(execution?.name, "invoke_agent Scout")
      assert.isTrue(traces.spans().every(isEnded))
      assert.notInclude(traces.shown(), secret)
      assert.notInclude(log.lines.join("\n"), secret)
      const line = log.entries.find(({ requestId: of }) => of === requestId)
      assert.deepInclude(line, { traceId: incoming.trace, spanId: server?.spanId })
    }).pipe(
      Effect.scoped,
      Effect.provide(layerScripted()),
      Effect.provide(Layer.merge(traces.layer, log.layer))
    )
  })

  it.effect("tell texts where the operator says so, of bounded size", () => {
    const traces = makeTraces({ captureContent: true })
    return Effect.gen(function* () {
      const { task } = yield* subject
      const { id } = yield* task({ prompt: secret.repeat(1_000) })
      yield* until(id, "COMPLETED")
      const [first, second] = traces.named(/^chat/).map(attributesOf)
      const messages = JSON.parse(String(first?.["gen_ai.input.messages"]))
      assert.strictEqual(messages[0].role, "user")
      assert.match(messages[0].parts[0].content, /^xyzzy/)
      assert.isAtMost(messages[0].parts[0].content.length, 2_100)
      assert.include(String(second?.["gen_ai.output.messages"]), secret)
      const [called] = traces.named(/^execute_tool/).map(attributesOf)
      assert.include(String(called?.["gen_ai.tool.call.arguments"]), secret)
      assert.isString(called?.["gen_ai.tool.call.result"])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })

  it.effect("say what went wrong in a word, and nothing else of it", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { task } = yield* subject
      const model = yield* ScriptedModel
      model.script = () => Stream.fail(new InferenceError({ reason: "rate_limited", error: secret }))
      const failed = yield* task()
      yield* until(failed.id, "FAILED")
      const [chat] = traces.named(/^chat/)
      const [execution] = traces.named(/^invoke_agent/)
      assert.deepStrictEqual(
        [errorOf(chat), attributesOf(chat)["error.type"]],
        ["rate_limited", "rate_limited"]
      )
      assert.strictEqual(errorOf(execution), "inference_rate_limited")
      assert.deepInclude(attributesOf(execution), { "agentd.run.status": "FAILED" })

      model.script = ({ messages }) =>
        Stream.fromIterable<InferenceEvent>(
          messages.at(-1)?.role === "tool"
            ? says("done")
            : [{ type: "tool_call", call: { id: "c1", name: `${secret}_tool`, arguments: {} } }, finish]
        )
      const { id } = yield* task()
      yield* until(id, "COMPLETED")
      const [called] = traces.named(/^execute_tool/)
      assert.deepInclude(attributesOf(called), { "gen_ai.tool.name": "_OTHER", "error.type": "tool_error" })
      assert.strictEqual(errorOf(called), "tool_error")
      assert.notInclude(traces.shown(), secret)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })

  it.effect("stay in its trace when people have decided, and link to the execution before", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { task, user, workspaceId } = yield* subject
      const { id } = yield* task({ autonomyLevel: "supervised" })
      const { traceparent: kept } = yield* until(id, "WAITING_APPROVAL")
      yield* TestClock.adjust("10 minutes")
      const approvals = yield* Approvals
      for (const approval of yield* approvals.list(user, { workspaceId, limit: 9, offset: 0 })) {
        yield* approvals.decide(user, approval.id, { decision: "approve" } as never)
      }
      yield* until(id, "COMPLETED")
      const [first, second, ...more] = traces.named(/^invoke_agent/)
      assert.deepStrictEqual(more, [])
      const made = readTraceparent(kept)
      for (const span of [first, second]) {
        assert.strictEqual(span?.traceId, made?.traceId)
        assert.strictEqual(parentOf(span)?.spanId, made?.spanId)
      }
      assert.strictEqual(attributesOf(first)["agentd.run.status"], "WAITING_APPROVAL")
      assert.isUndefined(errorOf(first))
      assert.deepStrictEqual(first?.links, [])
      assert.strictEqual(first?.spanId, executionSpanId(id, 1))
      assert.deepStrictEqual(
        second?.links.map(({ span }) => [span.traceId, span.spanId]),
        [[first?.traceId, first?.spanId]]
      )
      assert.strictEqual(attributesOf(second)["agentd.run.epoch"], 2)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })

  it.effect("stay in its trace when another node takes it over", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      yield* betweenPolls
      const mortal = yield* startMortal("mortal", (_, die) => Stream.fromEffect(die))
      const { id } = yield* Effect.withSpan(
        (yield* Runs).create(user, { workspaceId, prompt: secret }),
        "asks",
        {
          kind: "server"
        }
      )
      while (!mortal.isDead()) yield* TestClock.adjust(100)
      yield* startNode("next")
      yield* until(id, "COMPLETED")
      const executions = traces.named(/^invoke_agent/)
      assert.deepStrictEqual(
        executions.map(attributesOf).map((told) => told["agentd.run.epoch"]),
        [1, 2]
      )
      assert.strictEqual(new Set(executions.map(({ traceId }) => traceId)).size, 1)
      assert.deepStrictEqual(
        executions[1]?.links.map(({ span }) => span.spanId),
        [executions[0]?.spanId]
      )
    }).pipe(Effect.scoped, Effect.provide(layerFaulty()), Effect.provide(traces.layer))
  })

  it.effect("stay in its trace when it is retried, which links to who asked for that", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { send, task, token } = yield* subject
      const model = yield* ScriptedModel
      model.script = () => Stream.fail(new InferenceError({ reason: "overloaded", error: secret }))
      const { id } = yield* task()
      yield* until(id, "FAILED")
      yield* callsOnce
      assert.strictEqual((yield* send("POST", `/api/runs/${id}/retry`, { token })).status, 200)
      yield* until(id, "COMPLETED")
      const [first, second] = traces.named(/^invoke_agent/)
      const [retry] = traces.named(/^retry_run/)
      const [made, asking] = traces.named(/^POST/)
      assert.deepStrictEqual(
        new Set([first, retry, second].map((span) => span?.traceId)),
        new Set([made?.traceId])
      )
      const links = (span: typeof first) => span?.links.map(({ span: { spanId } }) => spanId)
      assert.deepStrictEqual(links(retry), [first?.spanId, asking?.spanId])
      assert.deepStrictEqual(links(second), [retry?.spanId])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })

  it.effect("of a chat turn have its conversation, and are those of the message's request", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      yield* callsOnce
      const { user, workspaceId } = yield* makeTenant()
      const told = yield* Effect.scoped(
        Effect.flatMap(
          Effect.flatMap(Chat, (chat) => chat.send(user, { workspaceId, content: secret })),
          Stream.runCollect
        )
      ).pipe(Effect.withSpan("asks", { kind: "server" }))
      const conversation = JSON.stringify(told[0]).match(/"conversationId":"(\w+)"/)?.[1]
      const [execution] = traces.named(/^invoke_agent/)
      assert.strictEqual(parentOf(execution)?.spanId, traces.named(/^asks$/)[0]?.spanId)
      assert.deepInclude(attributesOf(execution), {
        "gen_ai.conversation.id": conversation,
        "agentd.run.kind": "turn"
      })
      assert.notInclude(traces.shown(), secret)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })

  it.effect("are not told of where who asks does not sample its trace", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { task } = yield* subject
      const { id } = yield* task({}, { traceparent: traceparent.replace(/01$/, "00") })
      const run = yield* until(id, "COMPLETED")
      assert.match(run.traceparent ?? "", new RegExp(`^00-${incoming.trace}-\\w{16}-00$`))
      assert.deepStrictEqual(traces.named(/^(invoke|chat|execute)/), [])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })
})

describe("a run where no spans are made", () => {
  it.effect("is in the trace that its caller says, and none is made", () => {
    const traces = makeTraces({ tracing: false })
    return Effect.gen(function* () {
      const { task } = yield* subject
      const kept = Effect.fnUntraced(function* (headers: Readonly<Record<string, string>>) {
        return (yield* until((yield* task({}, headers)).id, "COMPLETED")).traceparent
      })
      assert.strictEqual(yield* kept({ traceparent }), traceparent)
      assert.isNull(yield* kept({}))
      assert.isNull(yield* kept({ traceparent: "00-x" }))
      assert.deepStrictEqual(traces.made, [])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })

  it.effect("is in none where the operator wants nothing passed on", () => {
    const traces = makeTraces({ tracing: false, propagation: false })
    return Effect.gen(function* () {
      const { task } = yield* subject
      const { id } = yield* task({}, { traceparent })
      assert.isNull((yield* until(id, "COMPLETED")).traceparent)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()), Effect.provide(traces.layer))
  })
})
