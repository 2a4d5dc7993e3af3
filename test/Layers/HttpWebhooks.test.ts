import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"

const url = "https://example.org/hook"

interface Shown {
  readonly id: string
  readonly events?: ReadonlyArray<string>
  readonly secret?: string
}

const subject = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const { token, workspaceId } = yield* makeTenant()
  const create = (json: object) =>
    send("POST", "/api/webhooks", { token, json: { workspaceId, url, events: ["*"], ...json } })
  return { create, send, token, workspaceId }
})

describe("webhooks over HTTP", () => {
  it.effect("refuse what can be no webhook, and say what is wrong", () =>
    Effect.gen(function* () {
      const { create, send, token } = yield* subject
      const address = "url: must be an http or https address without a user name or fragment"
      for (const wrong of [
        "example.org/hook",
        "ftp://example.org",
        "javascript:alert(1)",
        "http://",
        "https://user@example.org",
        "https://user:password@example.org",
        "https://example.org/#part"
      ])
        isError(yield* create({ url: wrong }), 400, "invalid_input", address)
      const long = (characters: number) => `${url}?${"a".repeat(characters - url.length - 1)}`
      isError(yield* create({ url: long(2_001) }), 400, "invalid_input", "url: must be 1 to 2000 characters")
      assert.strictEqual((yield* create({ url: long(2_000) })).status, 201)
      isError(yield* create({ events: [] }), 400, "invalid_input", "events: must be 1 to 100 names of events")
      const unknown = yield* create({ events: ["run.failed", "run.exploded"] })
      isError(unknown, 400, "invalid_input")
      assert.match(unknown.text, /"events\.1: must be .*run\.completed.*budget\.reached/)
      for (const events of ["run.failed", null, undefined, [1], {}])
        isError(yield* create({ events }), 400, "invalid_input")
      const text = "description: must be at most 500 characters"
      isError(yield* create({ description: "a".repeat(501) }), 400, "invalid_input", text)
      isError(yield* create({ isActive: null }), 400, "invalid_input", "isActive: must be true or false")
      const { events, id } = dataOf<Shown>(yield* create({ events: "*" }))
      assert.deepStrictEqual(events, ["*"], "all, in short")
      const wrong = 'events: must be an array or "*"'
      isError(yield* create({ events: "run.failed" }), 400, "invalid_input", wrong)
      const patched = yield* send("PATCH", `/api/webhooks/${id}`, { token, json: { events: [] } })
      isError(patched, 400, "invalid_input", "events: must be 1 to 100 names of events")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("show a secret in two answers, and in no other", () =>
    Effect.gen(function* () {
      const { create, send, token, workspaceId } = yield* subject
      const created = yield* create({ description: "d", isActive: false })
      assert.strictEqual(created.status, 201)
      const { id, secret } = dataOf<Shown>(created)
      assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/)
      const path = `/api/webhooks/${id}`
      const rotated = yield* send("POST", `${path}/rotate-secret`, { token, json: {} })
      assert.strictEqual(rotated.status, 200)
      assert.notStrictEqual(dataOf<Shown>(rotated).secret, secret)
      const others = [
        yield* send("GET", path, { token }),
        yield* send("PATCH", path, { token, json: { isActive: true, description: null } }),
        yield* send("GET", `/api/webhooks?workspaceId=${workspaceId}`, { token }),
        yield* send("POST", `${path}/test`, { token, json: {} }),
        yield* send("GET", `${path}/deliveries`, { token })
      ]
      assert.deepStrictEqual(
        others.map(({ status }) => status),
        [200, 200, 200, 201, 200]
      )
      for (const { text } of others) assert.notMatch(text, /secret|whsec_|failingSince|previous/i)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("give the same secret to a request that is sent again, and make one webhook", () =>
    Effect.gen(function* () {
      const { send, token, workspaceId } = yield* subject
      const json = { workspaceId, url, events: ["*"] }
      const create = send("POST", "/api/webhooks", { token, json, headers: { "idempotency-key": "once" } })
      const first = yield* create
      const again = yield* create
      assert.deepStrictEqual([again.status, again.text], [201, first.text])
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      const listed = yield* send("GET", `/api/webhooks?workspaceId=${workspaceId}`, { token })
      assert.lengthOf(dataOf<ReadonlyArray<Shown>>(listed), 1)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("say in a header where deliveries go on, and refuse a test of one that is off", () =>
    Effect.gen(function* () {
      const { create, send, token } = yield* subject
      const path = `/api/webhooks/${dataOf<Shown>(yield* create({})).id}`
      const test = send("POST", `${path}/test`, { token, json: {} })
      const made = [dataOf<Shown>(yield* test).id, dataOf<Shown>(yield* test).id]
      const first = yield* send("GET", `${path}/deliveries?limit=1&status=pending`, { token })
      const next = first.headers.get("x-next-after")
      assert.strictEqual(next, dataOf<ReadonlyArray<Shown>>(first)[0]?.id)
      const last = yield* send("GET", `${path}/deliveries?limit=1&after=${next}`, { token })
      assert.isNull(last.headers.get("x-next-after"))
      assert.sameMembers(
        [first, last].flatMap((page) => dataOf<ReadonlyArray<Shown>>(page).map(({ id }) => id)),
        made
      )
      isError(yield* send("GET", `${path}/deliveries?status=lost`, { token }), 400, "invalid_input")
      isError(yield* send("GET", `${path}/deliveries?limit=0`, { token }), 400, "invalid_input")
      yield* send("PATCH", path, { token, json: { isActive: false } })
      isError(yield* test, 409, "webhook_inactive", "this webhook is switched off, and is sent nothing")
      const again = yield* send("POST", `/api/webhook-deliveries/${made[0]}/redeliver`, { token, json: {} })
      assert.deepStrictEqual([again.status, dataOf<Shown>(again).id], [200, made[0]])
    }).pipe(Effect.provide(layerOffline()))
  )
})
