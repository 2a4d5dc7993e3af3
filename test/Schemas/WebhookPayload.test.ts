import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { WebhookEventId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { type StoredWebhookEvent, testType, WebhookEventType } from "../../src/Schemas/WebhookEvent.ts"
import { dataOf } from "../../src/Schemas/WebhookMessage.ts"
import { cutBytes, mostTextBytes, payloadOf } from "../../src/Schemas/WebhookPayload.ts"

const types: ReadonlyArray<StoredWebhookEvent["type"]> = [...WebhookEventType.literals, testType]

const event = (type: StoredWebhookEvent["type"], facts: unknown): StoredWebhookEvent => ({
  id: "evt_1" as WebhookEventId,
  workspaceId: "ws_1" as WorkspaceId,
  type,
  at: new Date("2026-11-22T08:00:00.123Z"),
  facts,
  traceparent: null
})

const run = {
  // As PostgreSQL has it: in no order, and with microseconds.
  finishedAt: "2026-11-22T09:00:00.123456+01:00",
  id: "run_1",
  workspaceId: "ws_1",
  projectId: null,
  status: "COMPLETED",
  prompt: "Do it",
  output: "Done",
  createdAt: "2026-11-22T08:00:00+00:00",
  updatedAt: "2026-11-22T08:00:00+00:00",
  agentId: null,
  cronJobId: null,
  autonomyLevel: "autonomous",
  runAt: null,
  error: null,
  provider: null,
  model: null,
  providerKeyId: null,
  usage: { outputTokens: 2, inputTokens: 1 },
  attempts: 1,
  startedAt: null,
  firstTokenAt: null
}

const approval = {
  id: "appr_1",
  workspaceId: "ws_1",
  runId: "run_1",
  toolCallId: "call_1",
  tool: "remember",
  connector: null,
  address: null,
  description: null,
  arguments: { b: 1, a: [true, null] },
  status: "PENDING",
  reason: null,
  decidedBy: null,
  decidedAt: null,
  createdAt: "2026-11-22T08:00:00Z",
  expiresAt: "2026-11-23T08:00:00Z"
}

describe("the payload of a webhook", () => {
  it("has the fields, their order and time stamps as the API has them, and nothing else", () => {
    const { data, timestamp, type } = payloadOf(event("run.completed", { ...run, worker: "w", epoch: 3 }))
    assert.deepStrictEqual([type, timestamp], ["run.completed", "2026-11-22T08:00:00.123Z"])
    assert.deepStrictEqual(Object.keys(data), Object.keys(dataOf["run.completed"].fields).slice(0, -1))
    assert.strictEqual(data.finishedAt, "2026-11-22T08:00:00.123Z")
    assert.strictEqual(JSON.stringify(data.usage), '{"inputTokens":1,"outputTokens":2}')
  })

  it("is the same whatever the order of what was stored", () => {
    const turned = Object.fromEntries(Object.entries(run).reverse())
    const text = (facts: unknown) => JSON.stringify(payloadOf(event("run.failed", facts)))
    assert.strictEqual(text(turned), text(run))
  })

  it("cuts texts of more than 16 KiB at the end of a character, and says so", () => {
    for (const [text, length] of [
      ["a".repeat(mostTextBytes), mostTextBytes],
      ["a".repeat(mostTextBytes + 1), mostTextBytes],
      ["é".repeat(mostTextBytes), mostTextBytes / 2],
      [`a${"é".repeat(mostTextBytes)}`, mostTextBytes / 2],
      [`a${"😀".repeat(mostTextBytes)}`, 1 + 2 * (mostTextBytes / 4 - 1)]
    ] as const) {
      const { data } = payloadOf(event("run.completed", { ...run, output: text }))
      assert.strictEqual(data.output, text.slice(0, length))
      assert.isTrue(text.slice(0, length).isWellFormed())
      assert.strictEqual(data.truncated, length < text.length ? true : undefined)
      assert.strictEqual("truncated" in data, length < text.length)
    }
    assert.strictEqual(cutBytes("aé", 2), "a")
    assert.strictEqual(cutBytes("😀", 3), "")
  })

  it("shows long arguments as the beginning of their JSON, and others as they are", () => {
    const shown = payloadOf(event("approval.decided", approval)).data
    assert.strictEqual(JSON.stringify(shown.arguments), JSON.stringify(approval.arguments))
    const long = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`key ${n}`, n]))
    const { data } = payloadOf(event("approval.decided", { ...approval, arguments: long }))
    assert.strictEqual(data.arguments, JSON.stringify(long).slice(0, mostTextBytes))
    assert.strictEqual(data.truncated, true)
    // As PostgreSQL cuts what is very long.
    const cut = `{"key": "${"x".repeat(100)}`
    const given = { ...approval, arguments: cut, areArgumentsCut: true }
    const stored = payloadOf(event("approval.decided", given)).data
    assert.deepStrictEqual([stored.arguments, stored.truncated], [cut, true])
    assert.notProperty(stored, "areArgumentsCut")
  })

  it("shows 20 approvals at most, and 256 KiB of them", () => {
    const waiting = (approvals: ReadonlyArray<unknown>) =>
      payloadOf(event("run.waiting_approval", { ...run, status: "WAITING_APPROVAL", approvals })).data
    const many = waiting(Array.from({ length: 21 }, (_, n) => ({ ...approval, id: `appr_${n}` })))
    assert.deepStrictEqual([(many.approvals as ReadonlyArray<unknown>).length, many.truncated], [20, true])
    const all = waiting(Array.from({ length: 20 }, (_, n) => ({ ...approval, id: `appr_${n}` })))
    assert.deepStrictEqual(
      [(all.approvals as ReadonlyArray<unknown>).length, "truncated" in all],
      [20, false]
    )
    const long = "x".repeat(mostTextBytes)
    const wide = waiting(
      Array.from({ length: 20 }, () => ({ ...approval, address: long, description: long }))
    )
    assert.isAtMost(JSON.stringify(wide).length, 258 * 1024)
    assert.strictEqual(wide.truncated, true)
  })

  it("tells money in US dollars", () => {
    const facts = {
      workspaceId: "ws_1",
      limit: "monthlyUsd",
      amount: 50_000_000_000,
      month: "2026-11",
      monthlyNanos: 50_000_000_000,
      monthlyTokens: null,
      usedTokens: 7,
      usedNanos: 50_500_000_000,
      lostTokens: 0,
      lostNanos: 0,
      reservedTokens: 3,
      reservedNanos: 1
    }
    assert.deepStrictEqual(payloadOf(event("budget.reached", facts)).data, {
      workspaceId: "ws_1",
      limit: "monthlyUsd",
      value: 50,
      month: "2026-11",
      monthlyUsd: { used: 50.5, reserved: 1e-9, lost: 0, limit: 50 },
      monthlyTokens: { used: 7, reserved: 3, lost: 0, limit: null }
    } as unknown)
  })

  it("is made of whatever was stored, by any version", () => {
    for (const type of types) {
      for (const facts of [
        undefined,
        null,
        "x",
        7,
        [],
        {},
        { id: 7 },
        { approvals: "x" },
        { approvals: [null] },
        run
      ]) {
        const payload = payloadOf(event(type, facts))
        assert.strictEqual(payload.type, type)
        assert.isObject(payload.data)
        assert.strictEqual(JSON.stringify(payloadOf(event(type, facts))), JSON.stringify(payload))
      }
    }
    const later = { ...run, status: "PAUSED", more: "x".repeat(20_000) }
    const { data } = payloadOf(event("run.completed", later))
    assert.strictEqual(data.status, "PAUSED")
    assert.deepStrictEqual([String(data.more).length, data.truncated], [mostTextBytes, true])
  })

  it("of a test is what the document says", () => {
    const { data } = payloadOf(event(testType, {}))
    assert.isTrue(Schema.is(dataOf[testType])(data))
  })
})
