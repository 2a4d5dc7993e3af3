import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import { names, ofEach, type Quota, quotas } from "../../src/Schemas/Quotas.ts"
import { layerAtRest, makeTenant } from "../support/Service.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"

type Usage = Readonly<Record<Quota, { readonly used: number; readonly limit: number | null }>>

const few = { ...ofEach(() => ({ free: 2, pro: 3 })), memoryEntries: { free: null, pro: null } }

/** What makes one more of each, by a body of its own. */
const requests = (workspaceId: WorkspaceId, n: number) =>
  ({
    agents: ["/api/agents", { workspaceId, name: "A" }],
    projects: ["/api/projects", { workspaceId, name: "P" }],
    cronJobs: [
      "/api/cron-jobs",
      { workspaceId, name: "J", schedule: "@daily", timezone: "UTC", prompt: "p" }
    ],
    providerKeys: ["/api/provider-keys", { workspaceId, name: "K", provider: "offline", model: "offline" }],
    connectors: ["/api/connectors", { workspaceId, type: "custom" }],
    webhooks: ["/api/webhooks", { workspaceId, url: "https://example.org/hook", events: ["*"] }],
    memoryBytes: ["/api/chat/memory", { workspaceId, key: `k${n}`, value: "v" }],
    workspacesOwned: ["/api/workspaces", { name: "W" }],
    tokens: ["/api/tokens", { name: "T" }]
  }) satisfies Partial<Record<Quota, readonly [path: string, body: object]>>

const makeService = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const tenant = yield* makeTenant()
  const { token, workspaceId } = tenant
  const usage = Effect.map(
    send("GET", `/api/workspaces/${workspaceId}/usage`, { token }),
    (answer) => dataOf<{ quotas: Usage }>(answer).quotas
  )
  return { ...tenant, send, usage }
})

describe("quotas of plans", () => {
  const kinds = Object.keys(requests("ws" as WorkspaceId, 0)) as ReadonlyArray<"agents">
  for (const quota of kinds) {
    it.effect(`${quota}: one more than the plan allows is a 403 that names it, and is not stored`, () =>
      Effect.gen(function* () {
        const { send, token, usage, workspaceId } = yield* makeService
        const before = (yield* usage)[quota].used
        const make = (n: number) => {
          const [path, json] = requests(workspaceId, n)[quota]
          return send("POST", path, { token, json })
        }
        for (let n = before; n < 2; n++) assert.strictEqual((yield* make(n)).status, 201)
        for (const n of [2, 3]) {
          isError(yield* make(n), 403, "plan_limit_exceeded", `${quota}: the free plan allows at most 2`)
        }
        assert.deepStrictEqual((yield* usage)[quota], { used: 2, limit: 2 })
      }).pipe(Effect.provide(layerAtRest({ quotas: few })))
    )
  }

  it.effect("browser sessions are tokens, and one that is ended is none", () =>
    Effect.gen(function* () {
      const { send, token, usage } = yield* makeService
      const started = yield* send("POST", "/api/session", { token })
      assert.strictEqual(started.status, 201)
      assert.deepStrictEqual((yield* usage).tokens, { used: 2, limit: 2 })
      const refused = yield* send("POST", "/api/session", { token })
      isError(refused, 403, "plan_limit_exceeded", "tokens: the free plan allows at most 2")
      const cookie = started.headers.get("set-cookie")?.split(";")[0] ?? assert.fail()
      assert.strictEqual((yield* send("DELETE", "/api/session", { headers: { cookie } })).status, 200)
      assert.deepStrictEqual((yield* usage).tokens, { used: 1, limit: 2 })
    }).pipe(Effect.provide(layerAtRest({ quotas: few })))
  )

  it.effect("nobody makes more workspaces than the plan allows, and anybody may be made an owner", () =>
    Effect.gen(function* () {
      const { send, token } = yield* makeService
      const other = yield* makeTenant()
      const add = (workspace: string, role: string) =>
        send("POST", `/api/workspaces/${workspace}/members`, {
          token,
          json: { email: other.user.email, role }
        })
      const make = send("POST", "/api/workspaces", { token, json: { name: "W" } })
      const [second, third] = [dataOf<{ id: string }>(yield* make).id, yield* make]
      isError(third, 403, "plan_limit_exceeded", "workspacesOwned: the free plan allows at most 2")
      assert.strictEqual((yield* add(second, "owner")).status, 201, "it is told nothing of what others have")
    }).pipe(Effect.provide(layerAtRest({ quotas: few })))
  )
})

const unlimited = { used: 0, reserved: 0, lost: 0, limit: null }

describe("GET /api/workspaces/{id}/usage", () => {
  it.effect("says to any member how much there is and how much there may be, of all that has a quota", () =>
    Effect.gen(function* () {
      const { send, token, workspaceId } = yield* makeService
      const member = yield* makeTenant()
      const path = `/api/workspaces/${workspaceId}/usage`
      isError(yield* send("GET", path, { token: member.token }), 404, "not_found", "workspace not found")
      yield* send("POST", `/api/workspaces/${workspaceId}/members`, {
        token,
        json: { email: member.user.email }
      })
      yield* send("POST", "/api/chat/memory", { token, json: { workspaceId, key: "k", value: "é" } })
      const found = dataOf<{ quotas: Usage; budget: Schema.Json }>(
        yield* send("GET", path, { token: member.token })
      )
      const ones = { memoryEntries: 1, memoryBytes: 2, workspacesOwned: 1, tokens: 1 }
      assert.deepStrictEqual(found, {
        quotas: ofEach((quota) => ({
          used: quota in ones ? ones[quota as keyof typeof ones] : 0,
          limit: quotas[quota].free
        })),
        budget: { month: "1970-01", monthlyUsd: unlimited, monthlyTokens: unlimited }
      })
      assert.deepStrictEqual(Object.keys(found.quotas), [...names])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("has no limit where there is none", () =>
    Effect.gen(function* () {
      const { usage } = yield* makeService
      assert.deepStrictEqual((yield* usage).memoryEntries, { used: 0, limit: null })
    }).pipe(Effect.provide(layerAtRest({ quotas: few })))
  )
})
