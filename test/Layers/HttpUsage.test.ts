import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

const pricing = { inputPerMillion: 1000, cachedInputPerMillion: 10, outputPerMillion: 2000 }

const eventOf = (answer: Answer, name: string) =>
  JSON.parse(new RegExp(`event: ${name}\\ndata: (.*)`).exec(answer.text)?.[1] ?? "null")

describe("usage over HTTP", () => {
  it.effect("is what a turn has used, with the price of its key, which owners correct", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const made = yield* send("POST", "/api/provider-keys", {
        token,
        json: { workspaceId, name: "k", provider: "offline", model: "m", pricing }
      })
      assert.strictEqual(made.status, 201, made.text)
      const key = dataOf<{ id: string; pricing: unknown }>(made)
      assert.deepStrictEqual(key.pricing, pricing)

      const say = send("POST", "/api/chat/messages", { token, json: { workspaceId, content: "hello" } })
      const told = yield* say
      const { inputTokens, outputTokens } = eventOf(told, "done").usage
      assert.deepStrictEqual(Object.keys(eventOf(told, "done").usage).sort(), ["inputTokens", "outputTokens"])
      const counted = { modelCalls: 1, toolCalls: 0, inputTokens, cachedInputTokens: 0, outputTokens }
      const costUsd = (inputTokens * 1_000_000 + outputTokens * 2_000_000) / 1e9
      const { turnId } = eventOf(told, "conversation")
      const usageOf = (id: string) =>
        Effect.map(send("GET", `/api/runs/${id}/usage`, { token }), (answer) => dataOf(answer))
      assert.deepStrictEqual(yield* usageOf(turnId), { ...counted, costUsd } as never)

      const report = (query: string) =>
        send("GET", `/api/usage?workspaceId=${workspaceId}${query}`, { token })
      const row = { runs: 0, turns: 1, ...counted, costUsd }
      const keys = { day: "1970-01-01", agent: null, model: "offline/m", cronJob: null, kind: "turn" }
      for (const [groupBy, named] of Object.entries(keys))
        assert.deepStrictEqual(dataOf(yield* report(`&groupBy=${groupBy}`)), [
          { key: named, ...row }
        ] as never)
      assert.deepStrictEqual(dataOf(yield* report("")), [{ key: "1970-01-01", ...row }] as never)
      assert.deepStrictEqual(dataOf(yield* report("&from=1970-01-02&to=1970-02-01")), [] as never)

      const patch = (json: object) => send("PATCH", `/api/provider-keys/${key.id}`, { token, json })
      assert.deepStrictEqual(dataOf<typeof key>(yield* patch({})).pricing, pricing)
      const free = { inputPerMillion: 0, outputPerMillion: 0 }
      assert.deepStrictEqual(
        dataOf<typeof key>(yield* patch({ pricing: free, name: "ignored" })).pricing,
        free
      )
      const later = eventOf(yield* say, "conversation").turnId
      assert.deepInclude(yield* usageOf(later), { costUsd: 0 } as never)
      assert.deepInclude(yield* usageOf(turnId), { costUsd } as never)
      assert.isNull(dataOf<typeof key>(yield* patch({ pricing: null })).pricing)
      isError(
        yield* patch({ pricing: { inputPerMillion: -1, outputPerMillion: 0 } }),
        400,
        "invalid_input",
        "pricing.inputPerMillion: must be 0 to 1000000"
      )
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("refuses days that are none", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const report = (query: string) =>
        send("GET", `/api/usage?workspaceId=${workspaceId}&${query}`, { token })
      for (const [query, sentence] of [
        ["from=2026-02-30", /^from: must be a date such as/],
        ["from=2026-01-02&to=2026-01-02", /^to: must be after from$/],
        ["from=2024-01-01&to=2026-01-01", /^from: must be at most 366 days before to$/],
        ["groupBy=project", /^groupBy: /],
        ["projectId=p", /projectId/]
      ] as const) {
        const answer = yield* report(query)
        assert.strictEqual(answer.status, 400, query)
        assert.match((answer.body as { error: string }).error, sentence)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
