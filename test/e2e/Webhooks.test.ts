import { randomBytes } from "node:crypto"
import Anthropic from "@anthropic-ai/sdk"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import OpenAI from "openai"
import { makeAccount, makeNodes, type Nodes, onDatabase, startTools } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"
import {
  type Answer,
  isSignedBy,
  type Receiver,
  startReceiver,
  verified
} from "../support/WebhookReceiver.ts"
import { passWebhookTime } from "../support/WebhookTime.ts"

const name = "webhooks are told by whichever node is there"

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  /** What the receiver answers at a path; 204 elsewhere. */
  const answers = new Map<string, Answer>()
  let url: string
  let receiver: Receiver
  let tools: Awaited<ReturnType<typeof startTools>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>

  beforeAll(async () => {
    receiver = await startReceiver((message) => answers.get(message.path)?.(message) ?? 204)
    tools = await startTools(0)
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, () => ({}), { AGENTD_SECRET_KEY: randomBytes(32).toString("base64") })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes, tools.url)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    receiver?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const call = async (method: string, path: string, json?: object, node = 0) => {
    const answer = await account.client(node).request(method, path, json)
    const text = await answer.text()
    assert.isTrue(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text).data
  }
  /** A webhook whose path is its name. */
  const hook = (path: string, events: ReadonlyArray<string> = ["*"], workspaceId = account.workspaceId) =>
    call("POST", "/api/webhooks", { workspaceId, url: `${receiver.base}/${path}`, events })
  const at = (path: string) => receiver.received.filter((message) => message.path === `/${path}`)
  const told = async (path: string, type: string, count = 1) => {
    const found = () => at(path).filter((message) => message.type === type)
    await until(() => found().length >= count, `${count} × ${type} at ${path}`)
    return found()
  }
  const toldOnce = async (path: string, type: string) => {
    const found = await told(path, type)
    const [first] = found
    assert.lengthOf(found, 1)
    if (first === undefined) throw new Error("none")
    return first
  }
  const deliveries = (id: string, query = "") => call("GET", `/api/webhooks/${id}/deliveries${query}`)
  const settled = async (id: string, status: string, count = 1) => {
    await until(async () => (await deliveries(id, `?status=${status}`)).length === count, `it is ${status}`)
    return deliveries(id, `?status=${status}`)
  }
  const remove = (id: string) => call("DELETE", `/api/webhooks/${id}`)
  const changed = (statement: string) => onDatabase(url, (sql) => sql.unsafe(statement))
  /** Until the next attempt of whatever was tried twice at most. */
  const passTime = () => passWebhookTime(url, 600_000)
  const becomes = (id: string, status: string) =>
    until(async () => (await call("GET", `/api/runs/${id}`)).status === status, `${id} is ${status}`)
  const decide = async (runId: string, decision: string) => {
    const waiting = await call("GET", `/api/approvals?workspaceId=${account.workspaceId}`)
    const asked = waiting.find((approval: { readonly runId: string }) => approval.runId === runId)
    await call("POST", `/api/approvals/${asked.id}`, { decision }, 1)
    return asked.id
  }

  it("tells of a run's end so that libraries of others verify it", async () => {
    const { id, secret } = await hook("verified", ["run.completed"])
    assert.match(secret, /^whsec_/u)
    const runId = await account.submit(1, "verify me")
    const message = await toldOnce("verified", "run.completed")
    assert.include(message.data, { id: runId, status: "COMPLETED", prompt: "verify me" })
    assert.strictEqual(message.headers["content-type"], "application/json")

    const headers = Object.fromEntries(
      Object.entries(message.headers).map(([key, value]) => [key, `${value}`])
    )
    const openai = new OpenAI({ apiKey: "none", webhookSecret: secret })
    const anthropic = new Anthropic({ apiKey: "none", webhookKey: secret })
    const parsed = JSON.parse(message.body)
    assert.hasAllKeys(parsed, ["type", "timestamp", "data"])
    assert.deepStrictEqual(verified(secret, message), parsed)
    assert.deepStrictEqual(await openai.webhooks.unwrap(message.body, headers), parsed)
    assert.deepStrictEqual(anthropic.beta.webhooks.unwrap(message.body, { headers }) as unknown, parsed)

    const other = `whsec_${randomBytes(32).toString("base64")}`
    assert.isFalse(isSignedBy(other, message))
    assert.isFalse(isSignedBy(secret, { ...message, body: message.body.replace("verify", "accept") }))
    const [delivery] = await settled(id, "delivered")
    assert.deepInclude(delivery, {
      eventId: message.id,
      type: "run.completed",
      attempts: 1,
      nextAttemptAt: null
    })
    assert.include(delivery.lastAttempt, { statusCode: 204, error: null })
    await remove(id)
  })

  it("tells again where it was not taken, with the same id and the same body, and follows no redirect", async () => {
    const statuses = [500, 302, 204]
    answers.set("/again", () => statuses.shift() ?? 204)
    const { id, secret } = await hook("again", ["run.completed"])
    await account.submit(0, "again")
    for (const [attempts, statusCode] of [
      [1, 500],
      [2, 302]
    ] as const) {
      await until(
        async () => (await deliveries(id))[0]?.lastAttempt?.statusCode === statusCode,
        "it is refused"
      )
      const [delivery] = await deliveries(id, "?status=pending")
      assert.strictEqual(delivery.attempts, attempts)
      assert.isAbove(Date.parse(delivery.nextAttemptAt), Date.parse(delivery.lastAttempt.at))
      await passTime()
    }
    const [delivery] = await settled(id, "delivered")
    assert.strictEqual(delivery.attempts, 3)
    const came = at("again")
    assert.lengthOf(came, 3)
    assert.lengthOf(new Set(came.map((message) => message.id)), 1)
    assert.lengthOf(new Set(came.map(({ body }) => body)), 1)
    for (const message of came) verified(secret, message)
    assert.lengthOf(at("elsewhere"), 0)
    await remove(id)
  })

  it("is switched off by a 410, says so, and is told again of what happens once it is on", async () => {
    answers.set("/gone", () => 410)
    const { id } = await hook("gone", ["run.completed"])
    await account.submit(0, "first")
    await until(async () => !(await call("GET", `/api/webhooks/${id}`)).isActive, "it is switched off")
    const off = await call("GET", `/api/webhooks/${id}`, undefined, 1)
    assert.strictEqual(off.disabledReason, "gone")
    assert.isNotNull(off.disabledAt)
    const entries = await call("GET", `/api/audit?workspaceId=${account.workspaceId}&limit=200`)
    const disabled = entries.filter(
      ({ action }: { readonly action: string }) => action === "webhook.disabled"
    )
    assert.deepStrictEqual(
      disabled.map(({ targetId }: { readonly targetId: string }) => targetId),
      [id]
    )
    assert.property(disabled[0].actor, "system")

    const unheard = await account.submit(0, "unheard")
    await becomes(unheard, "COMPLETED")
    answers.delete("/gone")
    const on = await call("PATCH", `/api/webhooks/${id}`, { isActive: true })
    assert.include(on, { isActive: true, disabledAt: null, disabledReason: null })
    const heard = await account.submit(0, "heard")
    await told("gone", "run.completed", 2)
    assert.deepStrictEqual(
      at("gone").map(({ data }) => data.prompt),
      ["first", "heard"]
    )
    assert.strictEqual(at("gone")[1]?.data.id, heard)
    await remove(id)
  })

  it("signs with both secrets for a while after a rotation, and then with the new one alone", async () => {
    const { id, secret: old } = await hook("rotated", ["run.completed"])
    const { secret: next } = await call("POST", `/api/webhooks/${id}/rotate-secret`, undefined, 1)
    assert.notStrictEqual(next, old)
    await account.submit(0, "both")
    const both = await toldOnce("rotated", "run.completed")
    assert.deepStrictEqual([isSignedBy(old, both), isSignedBy(next, both)], [true, true])
    await changed(`update webhooks set previous_until = clock_timestamp() where id = '${id}'`)
    await account.submit(1, "one")
    const [, one] = await told("rotated", "run.completed", 2)
    if (one === undefined) throw new Error("none")
    assert.deepStrictEqual([isSignedBy(old, one), isSignedBy(next, one)], [false, true])
    await remove(id)
  })

  it("sends anew what was delivered, and a test of its own", async () => {
    const { id, secret } = await hook("anew", ["run.failed"])
    const sent = await call("POST", `/api/webhooks/${id}/test`)
    const test = await toldOnce("anew", "webhook.test")
    assert.strictEqual(test.id, sent.eventId)
    verified(secret, test)
    const [delivery] = await settled(id, "delivered")
    await call("POST", `/api/webhook-deliveries/${delivery.id}/redeliver`, undefined, 1)
    const [first, second] = await told("anew", "webhook.test", 2)
    assert.strictEqual(second?.id, first?.id)
    assert.strictEqual(second?.body, first?.body)
    await settled(id, "delivered")
    await remove(id)
  })

  it("tells of turns, approvals, missed slots, connectors and budgets", async () => {
    const { workspaceId } = account
    const { id, secret } = await hook("all")
    await account.client(0).chat({ workspaceId, content: "hello" })
    assert.include((await toldOnce("all", "turn.completed")).data, { status: "COMPLETED" })

    const asking = await account.submit(1, 'call remember {"key":"k","value":"v"}', "supervised")
    const parked = await toldOnce("all", "run.waiting_approval")
    assert.include(parked.data, { id: asking, status: "WAITING_APPROVAL" })
    const approvalId = await decide(asking, "approve")
    assert.include((await toldOnce("all", "approval.decided")).data, { id: approvalId, status: "APPROVED" })
    assert.include((await toldOnce("all", "run.completed")).data, { id: asking })

    const doomed = await account.submit(0, 'call remember {"key":"k","value":"v"}', "supervised")
    await told("all", "run.waiting_approval", 2)
    await call("POST", `/api/runs/${doomed}/cancel`)
    assert.include((await toldOnce("all", "run.cancelled")).data, { id: doomed })

    const job = await call("POST", "/api/cron-jobs", {
      workspaceId,
      name: "Often",
      schedule: "* * * * * *",
      prompt: "missed"
    })
    const before = "next_fire_at - interval '5 seconds'"
    await changed(`update cron_jobs set next_fire_at = ${before} where id = '${job.id}'`)
    const [missed] = await told("all", "cron.missed")
    assert.include(missed?.data, { id: job.id })
    await call("DELETE", `/api/cron-jobs/${job.id}`)

    const [connector] = await call("GET", `/api/connectors?workspaceId=${workspaceId}`)
    tools.refuse()
    await call("POST", `/api/connectors/${connector.id}/check`)
    assert.include((await toldOnce("all", "connector.error")).data, { id: connector.id, status: "ERROR" })
    await tools.accept()
    await call("POST", `/api/connectors/${connector.id}/check`)
    assert.include((await toldOnce("all", "connector.recovered")).data, {
      id: connector.id,
      status: "ACTIVE"
    })

    await call("PUT", `/api/workspaces/${workspaceId}/budget`, { monthlyTokens: 1 })
    await account.client(0).request("POST", "/api/tasks", { workspaceId, prompt: "over the budget" })
    await toldOnce("all", "budget.reached")
    await call("PUT", `/api/workspaces/${workspaceId}/budget`, {})

    for (const message of at("all")) verified(secret, message)
    const ids = at("all").map((message) => message.id)
    assert.lengthOf(new Set(ids), ids.length)
    await remove(id)
  })

  it("tells a webhook that is deleted nothing more, also not what was under way", async () => {
    answers.set("/deleted", () => 500)
    const { id } = await hook("deleted", ["run.completed"])
    const kept = await hook("kept", ["run.completed"])
    await account.submit(0, "before")
    await until(async () => (await deliveries(id))[0]?.lastAttempt?.statusCode === 500, "it is refused")
    const [pending] = await deliveries(id)
    await remove(id)
    await passTime()
    const after = await account.submit(1, "after")
    await told("kept", "run.completed", 2)
    await becomes(after, "COMPLETED")
    assert.lengthOf(at("deleted"), 1)
    const gone = await account.client(0).request("POST", `/api/webhook-deliveries/${pending.id}/redeliver`)
    assert.strictEqual(gone.status, 404)
    await remove(kept.id)
  })

  it("tells by the other node what the one was telling that is killed", async () => {
    await nodes.kill(1)
    const asked = Promise.withResolvers<void>()
    const never = new Promise<number>(() => {})
    const attempts: Array<Answer> = [
      () => {
        asked.resolve()
        return never
      }
    ]
    answers.set("/killed", (message) => attempts.shift()?.(message) ?? 204)
    const { id, secret } = await hook("killed", ["run.completed"])
    await account.submit(0, "told twice")
    await asked.promise
    await nodes.start(1)
    await nodes.kill(0)
    assert.lengthOf(at("killed"), 1)
    await passTime()
    const [first, second] = await told("killed", "run.completed", 2)
    assert.strictEqual(second?.id, first?.id)
    assert.strictEqual(second?.body, first?.body)
    for (const message of at("killed")) verified(secret, message)
    await nodes.start(0)
    const [delivery] = await settled(id, "delivered")
    assert.strictEqual(delivery.attempts, 2)
    await remove(id)
  })
})
