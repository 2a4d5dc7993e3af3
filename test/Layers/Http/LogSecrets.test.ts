import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { isTerminal, type RunStatus } from "../../../src/Schemas/Run.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { makeLog } from "../../support/Log.ts"
import { layerOffline, makeTenant } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"
import { dataOf, makeWeb } from "../../support/Web.ts"

const canary = "canary-5b1e77a0"

describe("the log, at every level", () => {
  it.live("has neither credentials nor texts of users", () => {
    const log = makeLog()
    return Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const other = `agentd_${"k".repeat(30)}${canary}`
      const post = (path: string, json: object) =>
        send("POST", path, { token, json: { workspaceId, ...json } })
      yield* Layer.build(Engine.layerTasks)
      const runs = yield* RunRepo
      const executed: Array<RunId> = []
      const task = Effect.fnUntraced(function* (prompt: string, status: RunStatus) {
        const { id } = dataOf<{ id: RunId }>(yield* post("/api/tasks", { prompt }))
        const found = Effect.map(runs.find(id), Option.getOrThrow)
        yield* eventually(
          Effect.map(found, (run) => isTerminal(run.status)),
          "the task is over"
        )
        assert.strictEqual((yield* found).status, status)
        executed.push(id)
      })
      const requests: ReadonlyArray<Effect.Effect<unknown, Unavailable>> = [
        send("GET", `/api/agents?workspaceId=${workspaceId}&token=${canary}`, { token: other }),
        send("GET", "/api/agents", { headers: { cookie: `session=${other}` } }),
        send("GET", `/api/agents?workspaceId=${canary}`, { token }),
        send("GET", `/api/agents?workspaceId=${other}`, { token }),
        send("POST", "/api/agents", { token, json: { workspaceId: `w=${other}`, name: "a" } }),
        send("GET", `/nothing/${other}?q=${canary}`),
        send("POST", "/api/agents", { token, body: `{"name":"${canary}` }),
        post("/api/agents", { name: canary, description: canary, systemPrompt: canary }),
        post("/api/agents", { name: canary.repeat(20) }),
        post("/api/connectors", {
          name: canary,
          providerId: "x",
          type: "mcp",
          metadata: { url: "http://127.0.0.1:1/", credential: canary, headers: { "x-key": canary } }
        }),
        post("/api/connectors", { name: canary, providerId: "x", type: "api", credential: canary }),
        task(`${canary}\ncall remember {"key":"k","value":"${canary}"}`, "COMPLETED"),
        task(`call ${canary} {"a":"${canary}"}`, "COMPLETED"),
        post("/api/chat/messages", { content: `${canary}\ncall recall {"query":"${canary}"}` }),
        post("/api/chat/messages", { content: canary, conversationId: canary }),
        // From here on it is the default, and can't be reached.
        post("/api/provider-keys", {
          name: canary,
          provider: "openai-compatible",
          model: canary,
          apiKey: canary,
          baseUrl: "http://127.0.0.1:1/v1"
        }),
        post("/api/chat/messages", { content: canary }),
        task(canary, "FAILED"),
        send("GET", `/api/chat/memory?workspaceId=${workspaceId}&key=${canary}`, { token })
      ]
      for (const request of requests) yield* request
      const made = dataOf<{ token: string }>(yield* post("/api/tokens", { name: canary }))
      yield* send("POST", "/api/session", { json: { token: made.token } })
      assert.isAbove(log.entries.length, requests.length)
      // What comes of a task is in the log.
      assert.isTrue(log.entries.some(({ runId }) => runId === executed.at(-1)))
      for (const line of log.lines) {
        for (const secret of [token, made.token, other.slice(0, 40)]) assert.notInclude(line, secret)
        // A workspace that a caller names is the one thing of it that is told.
        if (!line.includes("a request was")) assert.notInclude(line, canary)
      }
      const named = log.facts().filter((facts) => JSON.stringify(facts).includes(canary))
      for (const { workspaceId } of named) assert.strictEqual(workspaceId, canary)
      const masked = log.facts().filter(({ message }) => message === "a request was refused")
      const workspaces = new Set(masked.map(({ workspaceId }) => workspaceId))
      for (const workspaceId of ["agentd_…", "w=agentd_…"]) assert.isTrue(workspaces.has(workspaceId))
    }).pipe(Effect.provide(layerOffline()), Effect.provide(log.layer))
  })
})
