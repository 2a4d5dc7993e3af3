import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ProjectId, ProviderKeyId } from "../../src/Schemas/Ids.ts"
import { ProjectRepo } from "../../src/Services/ProjectRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { layerOffline, layerScripted, makeTenant, ScriptedModel } from "../support/Service.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

describe("agents over HTTP", () => {
  it.effect("create, read, list by project, update, clear", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const projects = yield* ProjectRepo
      const keys = yield* ProviderKeyRepo
      const at = new Date(0)
      const projectId = "proj_1" as ProjectId
      const providerKeyId = "pkey_1" as ProviderKeyId
      yield* projects.insert({ id: projectId, workspaceId, name: "p", createdAt: at })
      const key = { id: providerKeyId, name: "k", provider: "openai" as const, model: "m" }
      yield* keys.insert({
        ...key,
        workspaceId,
        baseUrl: null,
        maxOutputTokens: null,
        pricing: null,
        hasApiKey: false,
        sealedApiKey: null,
        createdAt: at
      })
      const created = yield* send("POST", "/api/agents", {
        token,
        json: { workspaceId, name: "A", projectId, providerKeyId, unknown: true }
      })
      assert.strictEqual(created.status, 201)
      const agent = dataOf<Record<string, unknown>>(created)
      assert.deepStrictEqual(agent, {
        id: agent.id,
        workspaceId,
        projectId,
        name: "A",
        description: null,
        systemPrompt: null,
        isActive: true,
        providerKeyId,
        providerKey: key,
        createdAt: "1970-01-01T00:00:00.000Z",
        updatedAt: "1970-01-01T00:00:00.000Z"
      })
      assert.match(String(agent.id), /^agent_[0-9a-z]{26}$/)
      yield* send("POST", "/api/agents", { token, json: { workspaceId, name: "B", projectId: null } })
      const names = (answer: Answer) =>
        dataOf<ReadonlyArray<{ name: string }>>(answer).map(({ name }) => name)
      const all = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      assert.deepStrictEqual(names(all), ["A", "B"])
      const narrowed = yield* send("GET", `/api/agents?workspaceId=${workspaceId}&projectId=${projectId}`, {
        token
      })
      assert.deepStrictEqual(names(narrowed), ["A"])
      const patch = { description: "d", isActive: false, providerKeyId: null }
      const updated = yield* send("PATCH", `/api/agents/${agent.id}`, { token, json: patch })
      assert.deepInclude(dataOf<object>(updated), { ...patch, providerKey: null, name: "A" })
      const cleared = yield* send("PATCH", `/api/agents/${agent.id}`, { token, json: { description: null } })
      assert.deepInclude(dataOf<object>(cleared), { description: null, isActive: false })
      const wrong = yield* send("PATCH", `/api/agents/${agent.id}`, { token, json: { isActive: null } })
      isError(wrong, 400, "invalid_input", "isActive: must be true or false")
      const read = yield* send("GET", `/api/agents/${agent.id}`, { token })
      assert.deepStrictEqual(dataOf(read), dataOf(cleared))
      const task = yield* send("POST", "/api/tasks", {
        token,
        json: { workspaceId, prompt: "p", agentId: agent.id }
      })
      isError(task, 409, "agent_inactive")
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("a preview over HTTP", () => {
  it.effect.each([
    ["2026-11-20T08:30:00Z", "2026-11-20T09:00:00.000Z"],
    ["2026-11-20T08:30:00.000+05:30", "2026-11-20T04:00:00.000Z"],
    ["2026-11-20T08:30:00", undefined],
    ["2026-11-20", "2026-11-20T01:00:00.000Z"],
    ["2026-13-20T08:30:00Z", undefined],
    ["yesterday", undefined],
    ["Nov 20 2026", undefined]
  ] as const)(
    "takes an instant, and nothing that depends on the time zone of the node: %s",
    ([after, first]) =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const { token } = yield* makeTenant()
        const json = { schedule: "@hourly", after, count: 1 }
        const answer = yield* send("POST", "/api/cron-jobs/preview", { token, json })
        if (first !== undefined) return assert.deepStrictEqual(dataOf(answer), [first])
        isError(
          answer,
          400,
          "invalid_input",
          "after: must be a time stamp with its offset, like 2026-11-20T08:00:00.000Z"
        )
      }).pipe(Effect.provide(layerOffline()))
  )
})

describe("metrics", () => {
  it.effect("are shown to Prometheus without a credential, and count what was answered", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      yield* send("POST", "/api/chat/messages", { token, json: { workspaceId, content: "hi" } })
      yield* send("GET", "/nothing")
      const answer = yield* send("GET", "/metrics")
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
      assert.match(answer.text, /^agentd_http_requests_total\{method="GET",status="404"\} [1-9]/m)
      assert.match(answer.text, /^agentd_chat_turns_finished_total\{ending="done"\} [1-9]/m)
      assert.match(answer.text, /^agentd_http_request_seconds_bucket\{le="0\.1"\} [1-9]/m)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("count what was cancelled, once, whatever it waited for", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const counted = Effect.map(send("GET", "/metrics"), ({ text }) =>
        Number(/^agentd_runs_finished_total\{status="CANCELLED"\} (\d+)/m.exec(text)?.[1] ?? 0)
      )
      const before = yield* counted
      const task = yield* send("POST", "/api/tasks", { token, json: { workspaceId, prompt: "p" } })
      const { id } = dataOf<{ id: string }>(task)
      yield* send("POST", `/api/runs/${id}/cancel`, { token })
      yield* send("POST", `/api/runs/${id}/cancel`, { token })
      assert.strictEqual((yield* counted) - before, 1)
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("chat over HTTP", () => {
  it.effect("frames the events with ids from 1 and the documented headers", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const answer = yield* send("POST", "/api/chat/messages", {
        token,
        json: { workspaceId, content: "hi" }
      })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(answer.headers.get("cache-control"), "no-cache")
      assert.strictEqual(answer.headers.get("x-accel-buffering"), "no")
      const events = answer.text.split("\n\n").filter((block) => block !== "")
      events.forEach((block, index) => {
        assert.match(block, /^id: \d+\nevent: (conversation|status|done)\ndata: \{.*\}$/)
        assert.isTrue(block.startsWith(`id: ${index + 1}\n`))
      })
      assert.include(events[0] ?? "", "event: conversation")
      assert.include(events.at(-1) ?? "", "event: done")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("ends a stream whose model dies with an error event", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const model = yield* ScriptedModel
      const { token, workspaceId } = yield* makeTenant()
      model.script = () => Stream.die(new Error("secret"))
      const answer = yield* send("POST", "/api/chat/messages", {
        token,
        json: { workspaceId, content: "hi" }
      })
      assert.strictEqual(answer.status, 200)
      assert.notInclude(answer.text, "secret")
      assert.match(
        answer.text,
        /event: error\ndata: \{"error":"internal error","code":"internal_error"\}\n\n$/
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("refuses with a real status before the stream opens", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const cases = [
        [{ content: "" }, "content: must be 1 to 100000 characters"],
        [{ content: " \n" }, "content: must not be only white space"],
        [{}, "content: is required"],
        [{ content: "a", conversationId: "conv_x" }, "conversationId: does not exist in this workspace"],
        [{ content: "a", agentId: "agent_x" }, "agentId: does not exist in this workspace"]
      ] as const
      for (const [json, sentence] of cases) {
        const answer = yield* send("POST", "/api/chat/messages", { token, json: { workspaceId, ...json } })
        isError(answer, 400, "invalid_input", sentence)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
