import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { pathOf } from "../../../src/Layers/Http/AccessLog.ts"
import { InferenceError } from "../../../src/Schemas/Inference.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { makeLog } from "../../support/Log.ts"
import { layerOffline, layerOver, layerScripted, makeTenant, ScriptedModel } from "../../support/Service.ts"
import { dataOf, makeWeb } from "../../support/Web.ts"

describe("the log of requests", () => {
  it.effect("has one line of each at debug, with who asked and for which workspace", () => {
    const log = makeLog("Debug")
    return Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, user, workspaceId } = yield* makeTenant()
      const headers = { "x-request-id": "mine-1" }
      yield* send("GET", "/health/live", { headers })
      yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token, headers })
      const made = yield* send("POST", "/api/agents", { token, headers, json: { workspaceId, name: "a" } })
      const { id } = (made.body as { readonly data: { readonly id: string } }).data
      yield* send("GET", `/api/agents/${id}`, { token, headers })
      yield* send("GET", "/nothing?q=1", { headers })
      const lines = log.facts().filter(({ message }) => message === "a request was answered")
      for (const { durationMs } of lines) assert.isAtLeast(Number(durationMs), 0)
      const base = { level: "DEBUG", message: "a request was answered", requestId: "mine-1" }
      const known = { ...base, userId: user.id, workspaceId }
      assert.deepStrictEqual(
        lines.map(({ durationMs: _, ...line }) => line),
        [
          { ...base, method: "GET", path: "/health/live", status: 200 },
          { ...known, method: "GET", path: "/api/agents", status: 200 },
          { ...known, method: "POST", path: "/api/agents", status: 201 },
          { ...known, method: "GET", path: `/api/agents/${id}`, status: 200 },
          { ...base, method: "GET", path: "/nothing", status: 404 }
        ]
      )
    }).pipe(Effect.provide(layerOffline()), Effect.provide(log.layer))
  })

  it.effect("has refused rights at info, and nothing of a request that was answered", () => {
    const log = makeLog("Info")
    return Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, user, workspaceId } = yield* makeTenant()
      const other = yield* makeTenant()
      const list = (id: string) => `/api/agents?workspaceId=${id}`
      yield* send("GET", list(workspaceId), { token })
      yield* send("GET", "/api/agents/agent_absent", { token })
      yield* send("GET", list(workspaceId), { token: "wrong" })
      yield* send("GET", list(other.workspaceId), { token })
      const cookie = { cookie: `session=${token}`, host: "agentd.test", origin: "http://evil.example" }
      yield* send("POST", "/api/agents", { json: { workspaceId, name: "a" }, headers: cookie })
      const base = { level: "INFO", message: "a request was refused", path: "/api/agents" }
      const refused = { ...base, status: 403, code: "forbidden", userId: user.id }
      assert.deepStrictEqual(
        log.facts().map(({ requestId, ...line }) => {
          assert.match(String(requestId), /^req_/)
          return line
        }),
        [
          { ...base, method: "GET", status: 401, code: "unauthenticated" },
          { ...refused, method: "GET", workspaceId: other.workspaceId },
          { ...refused, method: "POST" }
        ]
      )
    }).pipe(Effect.provide(layerOffline()), Effect.provide(log.layer))
  })

  it.effect("has the cause of a 500 under the id of its request, once", () => {
    const log = makeLog("Info")
    const broken = {
      insert: () => Effect.die("x"),
      find: () => Effect.succeed(Option.none()),
      page: () => Effect.die(new Error("broken on purpose")),
      extent: () => Effect.die(new Error("broken on purpose")),
      remove: () => Effect.succeed(false),
      update: () => Effect.succeed(Option.none()),
      named: () => Effect.die("x"),
      setPolicy: () => Effect.die("x")
    }
    return Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const answer = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      assert.deepStrictEqual(log.facts(), [
        {
          level: "ERROR",
          message: "a request failed",
          method: "GET",
          path: "/api/agents",
          requestId: answer.headers.get("x-request-id")
        }
      ])
      assert.include(String(log.entries[0]?.cause), "broken on purpose")
    }).pipe(Effect.provide(layerOver(Layer.succeed(AgentRepo, broken))), Effect.provide(log.layer))
  })

  it.live(
    "has under the id of a request what goes wrong in its stream, and in the run that began with it",
    () => {
      const log = makeLog("Info")
      return Effect.gen(function* () {
        const model = yield* ScriptedModel
        const { send } = yield* makeWeb
        const { token, workspaceId } = yield* makeTenant()
        const headers = { "x-request-id": "mine-2" }
        const post = (path: string, json: object) =>
          send("POST", path, { token, headers, json: { workspaceId, ...json } })
        model.script = () => Stream.fail(new InferenceError({ reason: "overloaded", error: "no" }))
        yield* post("/api/chat/messages", { content: "Hello" })
        const [failed, ...others] = log.facts()
        assert.deepStrictEqual(others, [])
        assert.match(String(failed?.runId), /^turn_/)
        const told = { level: "WARN", message: "a model gave no answer", reason: "overloaded", error: "no" }
        assert.deepInclude(failed, { ...told, requestId: "mine-2" })

        const { id } = dataOf<{ readonly id: string }>(yield* post("/api/tasks", { prompt: "p" }))
        const { text } = yield* send("GET", `/api/runs/${id}/events`, { token, headers })
        assert.include(text, "internal error")
        assert.deepStrictEqual(log.facts().slice(1), [
          { level: "ERROR", message: "a chat stream failed", requestId: "mine-2" }
        ])
      }).pipe(
        Effect.provide(
          Layer.effectDiscard(
            Effect.map(RunEventRepo, (events) =>
              Object.assign(events, { look: () => Effect.die(new Error("broken on purpose")) })
            )
          ).pipe(Layer.provideMerge(layerScripted()))
        ),
        Effect.provide(log.layer)
      )
    }
  )

  it("takes of an address what can hold no secret", () => {
    const token = `agentd_${"x".repeat(43)}`
    assert.strictEqual(pathOf(`/api/agents?token=${token}#${token}`), "/api/agents")
    // To the router a query begins here, too.
    assert.strictEqual(pathOf("/api/agents;password=a"), "/api/agents")
    assert.strictEqual(pathOf(`http://me:secret@host/api/agents?x=1`), "/api/agents")
    assert.strictEqual(pathOf(`/api/tokens/${token}`), "/api/tokens/agentd_…")
    assert.strictEqual(pathOf(`/${"a".repeat(300)}`).length, 200)
    const encoded = token.replaceAll("_", "%5F").replaceAll("a", "%61")
    assert.strictEqual(pathOf(`/api/${encoded}?x`), "/api/agentd_…")
    assert.strictEqual(pathOf("/api/a%20b%zz%e4"), "/api/a%20b%zz%e4")
    assert.strictEqual(pathOf("//api/runs"), "//api/runs")
    assert.strictEqual(pathOf("*"), "")
  })
})
