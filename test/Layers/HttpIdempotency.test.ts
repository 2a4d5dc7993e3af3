import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Api } from "../../src/Api/Api.ts"
import { Idempotency } from "../../src/Api/Idempotency.ts"
import { AuditRepo } from "../../src/Services/AuditRepo.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { isByLink } from "../support/Operations.ts"
import { layerOffline, layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

const keyed = (key: string) => ({ headers: { "idempotency-key": key } })

const isReplay = ({ headers }: Answer) => headers.get("idempotency-replayed") === "true"

const subject = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const tenant = yield* makeTenant()
  const { token, workspaceId } = tenant
  const post = (path: string, json: object, key: string, by = token) =>
    send("POST", path, { token: by, json: { workspaceId, ...json }, ...keyed(key) })
  const runs = yield* RunRepo
  const count = Effect.map(runs.list({ workspaceId, limit: 100, offset: 0 }), (found) => found.runs.length)
  return { ...tenant, send, post, count }
})

const same = (first: Answer, again: Answer) => {
  assert.isFalse(isReplay(first), first.text)
  assert.isTrue(isReplay(again), again.text)
  assert.deepStrictEqual(
    [again.status, again.text, again.headers.get("content-type"), again.headers.getSetCookie()],
    [first.status, first.text, first.headers.get("content-type"), first.headers.getSetCookie()]
  )
}

describe("Idempotency-Key", () => {
  it("is taken by every POST, and by nothing else", () => {
    for (const group of Object.values(Api.groups))
      for (const endpoint of Object.values(group.endpoints)) {
        const [innermost] = endpoint.middlewares
        const name = `${group.identifier}.${endpoint.identifier}`
        // Keys are kept by user, and who signs in by a link is none yet.
        const takesIt = endpoint.method === "POST" && !isByLink({ id: name })
        assert.strictEqual(innermost === Idempotency, takesIt, name)
      }
  })

  it.effect("gives the same request the same answer, and does it once", () =>
    Effect.gen(function* () {
      const { count, post, send, token, workspaceId } = yield* subject
      const first = yield* post("/api/tasks", { prompt: "do it", agentId: null }, "k")
      assert.strictEqual(first.status, 201)
      const again = yield* post("/api/tasks", { prompt: "do it", agentId: null }, "k")
      same(first, again)
      // What is of each request is its own.
      const ids = [first, again].map(({ headers }) => headers.get("x-request-id"))
      assert.lengthOf(new Set(ids.filter((id) => id !== null)), 2)
      // As a JSON value, and the key as a string of structured fields, at the same path as the router reads it.
      const body = `{ "agentId": null,\n"prompt": "do \\u0069t", "workspaceId":"${workspaceId}" }`
      same(first, yield* send("POST", "/api/%74asks", { token, body, ...keyed('"k"') }))
      assert.strictEqual(yield* count, 1)
      const entries = yield* (yield* AuditRepo).list({ workspaceId, after: null, limit: 10 })
      assert.lengthOf(entries, 1)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("refuses another request with it, and is another key for others", () =>
    Effect.gen(function* () {
      const { count, post, send, token, workspaceId } = yield* subject
      const first = yield* post("/api/tasks", { prompt: "do it" }, "k")
      const conflict = yield* post("/api/tasks", { prompt: "do that" }, "k")
      isError(conflict, 409, "idempotency_conflict", "Idempotency-Key: was used for another request")
      isError(yield* post("/api/tasks", { prompt: "do it", more: 1 }, "k"), 409, "idempotency_conflict")
      assert.strictEqual(yield* count, 1)
      // Another path, another key, another id in the path, another user.
      assert.isFalse(isReplay(yield* post("/api/agents", { name: "do it" }, "k")))
      assert.isFalse(isReplay(yield* post("/api/tasks", { prompt: "do it" }, "K")))
      const cancel = (id: string) => send("POST", `/api/runs/${id}/cancel`, { token, ...keyed("k") })
      const { id } = dataOf<{ id: string }>(first)
      same(yield* cancel(id), yield* cancel(id))
      const other = dataOf<{ id: string }>(yield* post("/api/tasks", { prompt: "do it" }, "k2"))
      assert.isFalse(isReplay(yield* cancel(other.id)))
      const stranger = yield* makeTenant()
      const json = { workspaceId: stranger.workspaceId, prompt: "do it" }
      assert.isFalse(
        isReplay(yield* send("POST", "/api/tasks", { token: stranger.token, json, ...keyed("k") }))
      )
      isError(
        yield* send("POST", "/api/tasks", {
          token: stranger.token,
          json: { workspaceId, prompt: "do it" },
          ...keyed("x")
        }),
        403,
        "forbidden"
      )
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is free again after a refusal, of which nothing is kept", () =>
    Effect.gen(function* () {
      const { post, send, token } = yield* subject
      const refused = yield* post("/api/agents", { name: "" }, "k")
      isError(refused, 400, "invalid_input")
      isError(
        yield* post("/api/agents", { name: "a", providerKeyId: "pkey_none" }, "k"),
        400,
        "invalid_input"
      )
      isError(yield* send("POST", "/api/agents", { token, body: "{", ...keyed("k") }), 400, "invalid_input")
      assert.strictEqual((yield* post("/api/agents", { name: "a" }, "k")).status, 201)
      isError(yield* send("POST", "/api/runs/run_none/cancel", { token, ...keyed("k") }), 404, "not_found")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("must be 1 to 255 visible ASCII characters, with or without quotes", () =>
    Effect.gen(function* () {
      const { count, post, send, token, workspaceId } = yield* subject
      const sentence =
        "Idempotency-Key: must be 1 to 255 visible ASCII characters, with or without quotes around them"
      for (const key of ["", '""', "a b", '"a b"', '"a', '"a"b"', '"a";b=1', "k".repeat(256), "é"]) {
        isError(yield* post("/api/tasks", { prompt: "p" }, key), 400, "invalid_input", sentence)
      }
      assert.strictEqual(yield* count, 0)
      for (const key of ["k".repeat(255), `"${"k".repeat(255)}"`, 'a"b', '"a\\"b"']) {
        assert.strictEqual((yield* post("/api/tasks", { prompt: "p" }, key)).status, 201)
      }
      assert.strictEqual(yield* count, 2)
      // Only of a POST.
      assert.strictEqual(
        (yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token, ...keyed("a b") })).status,
        200
      )
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("tells nobody what was answered who has left the workspace, and does nothing again", () =>
    Effect.gen(function* () {
      const { count, post, send, token, user, workspaceId } = yield* subject
      const workspaces = yield* WorkspaceRepo
      const { id } = dataOf<{ id: string }>(yield* post("/api/tasks", { prompt: "a secret" }, "k"))
      const cancel = send("POST", `/api/runs/${id}/cancel`, { token, ...keyed("k") })
      assert.strictEqual((yield* cancel).status, 200)
      const connector = dataOf<{ id: string }>(yield* post("/api/connectors", { type: "custom" }, "k"))
      const check = send("POST", `/api/connectors/${connector.id}/check`, { token, ...keyed("k") })
      assert.strictEqual((yield* check).status, 200)
      const other = yield* makeTenant()
      yield* workspaces.addMember(workspaceId, other.user.id, "owner", yield* now)
      yield* workspaces.removeMember(workspaceId, user.id)
      isError(yield* post("/api/tasks", { prompt: "a secret" }, "k"), 403, "forbidden")
      isError(yield* cancel, 404, "not_found")
      isError(yield* check, 404, "not_found")
      assert.strictEqual(yield* count, 1)
      yield* workspaces.addMember(workspaceId, user.id, "member", yield* now)
      assert.isTrue(isReplay(yield* post("/api/tasks", { prompt: "a secret" }, "k")))
      assert.isTrue(isReplay(yield* cancel))
      assert.strictEqual(yield* count, 1)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is known for as long as the operator says", () =>
    Effect.gen(function* () {
      const { count, post } = yield* subject
      const idempotencyMillis = (yield* Settings).idempotencyMillis
      yield* post("/api/tasks", { prompt: "p" }, "k")
      yield* TestClock.adjust(idempotencyMillis - 1)
      assert.isTrue(isReplay(yield* post("/api/tasks", { prompt: "p" }, "k")))
      yield* TestClock.adjust(1)
      assert.isFalse(isReplay(yield* post("/api/tasks", { prompt: "other" }, "k")))
      assert.strictEqual(yield* count, 2)
    }).pipe(Effect.provide(layerOffline({ idempotencyMillis: 3_600_000 })))
  )

  it.effect("keeps answers that show a secret sealed, and for the token that asked alone", () =>
    Effect.gen(function* () {
      const { post, send, token } = yield* subject
      const first = yield* post("/api/tokens", { name: "t" }, "k")
      same(first, yield* post("/api/tokens", { name: "t" }, "k"))
      const start = (by: string) => send("POST", "/api/session", { token: by, ...keyed("k") })
      const session = yield* start(token)
      assert.match(session.headers.getSetCookie()[0] ?? "", /^session=agentd_/)
      same(session, yield* start(token))
      const made = dataOf<{ token: string }>(first).token
      isError(yield* start(made), 409, "idempotency_conflict")
      isError(yield* post("/api/tokens", { name: "t" }, "k", made), 409, "idempotency_conflict")
      // What shows none is the user's, whichever token asks.
      yield* post("/api/agents", { name: "a" }, "k")
      assert.isTrue(isReplay(yield* post("/api/agents", { name: "a" }, "k", made)))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect(
    "gives the stream of the same turn from its first event, while it goes on and when it is over",
    () =>
      Effect.gen(function* () {
        const { count, post } = yield* subject
        const model = yield* ScriptedModel
        const gate = yield* makeGate
        model.script = () =>
          Stream.concat(
            Stream.fromIterable(says("Hel").slice(0, 1)),
            Stream.fromIterableEffect(Effect.as(gate.wait, says("lo")))
          )
        const chat = post("/api/chat/messages", { content: "hello" }, "k")
        const first = yield* Effect.forkChild(chat, { startImmediately: true })
        const second = yield* Effect.forkChild(chat)
        yield* eventually(
          Effect.sync(() => model.requests.length > 0),
          "the model is asked"
        )
        yield* gate.open
        yield* TestClock.adjust(1_000)
        const [one, two] = [yield* Fiber.join(first), yield* Fiber.join(second)]
        const three = yield* chat
        for (const answer of [one, two, three]) {
          assert.strictEqual(answer.status, 200)
          assert.strictEqual(answer.headers.get("content-type"), "text/event-stream")
        }
        assert.deepStrictEqual([isReplay(one), isReplay(two), isReplay(three)], [false, true, true])
        const told = (text: string) => text.split("\n\n").filter((frame) => frame.startsWith("id:"))
        assert.match(three.text, /^id: 1\nevent: conversation\n.*event: done\n.*Hello/s)
        assert.deepStrictEqual(told(two.text).at(-1), told(one.text).at(-1))
        assert.deepStrictEqual(told(three.text).at(-1), told(one.text).at(-1))
        assert.lengthOf(model.requests, 1)
        assert.strictEqual(yield* count, 0)
        isError(yield* post("/api/chat/messages", { content: "other" }, "k"), 409, "idempotency_conflict")
      }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect("takes no place of a stream for a message that is sent again than the one that is read", () =>
    Effect.gen(function* () {
      const { post } = yield* subject
      for (let n = 0; n < 70; n++) {
        const answer = yield* post("/api/chat/messages", { content: "hello" }, "k")
        assert.strictEqual(answer.status, 200, answer.text)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
