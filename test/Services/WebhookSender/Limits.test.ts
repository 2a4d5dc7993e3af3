import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import { TestClock } from "effect/testing"
import type { WebhookId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import * as Metrics from "../../../src/Services/Metrics.ts"
import { makeLog } from "../../support/Log.ts"
import { makeReceivers, type Sent, soon } from "../../support/Receivers.ts"
import { layerAtRest } from "../../support/Service.ts"

const never = ({ signal }: Sent) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))

const day = 86_400_000

describe("a sender", () => {
  it.effect("sends four at once to a webhook, and to others meanwhile", () =>
    Effect.gen(function* () {
      const { receiver, rows, sent, start, tell, webhook } = yield* makeReceivers
      const [slow, quick] = [yield* webhook(), yield* webhook()]
      receiver.answer = (one) => (one.url === slow.url ? never(one) : new Response(null, { status: 204 }))
      for (let n = 0; n < 20; n++) yield* tell(slow)
      for (let n = 0; n < 20; n++) yield* tell(quick)
      const { stop } = yield* start
      yield* soon(() => rows.filter(({ status }) => status === "delivered").length === 20, "quick ones")
      assert.lengthOf(
        sent.filter(({ url }) => url === slow.url),
        4
      )
      yield* TestClock.adjust("15 seconds")
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("sends 512 at once, and leaves a workspace out that has a quarter of them", () =>
    Effect.gen(function* () {
      const { receiver, rows, sent, start, state, tell, webhook } = yield* makeReceivers
      receiver.answer = never
      const slow = Array.from({ length: 60 }, () => webhook())
      for (const one of yield* Effect.all(slow)) for (let n = 0; n < 4; n++) yield* tell(one)
      const { stop } = yield* start
      yield* soon(
        () => state.claims.at(-1)?.exceptWorkspaces?.includes("ws_1" as WorkspaceId) === true,
        "out"
      )
      yield* TestClock.adjust("1 seconds")
      assert.isAtLeast(sent.length, 128)
      assert.isAtMost(sent.length, 128 + 63)
      const before = sent.length
      for (let workspace = 2; workspace <= 8; workspace++) {
        for (let hook = 0; hook < 20; hook++) {
          const to = yield* webhook({ workspaceId: `ws_${workspace}` as WorkspaceId })
          for (let n = 0; n < 4; n++) yield* tell(to)
        }
      }
      yield* soon(() => sent.length === 512, "all places taken")
      yield* TestClock.adjust("1 seconds")
      assert.lengthOf(sent, 512)
      assert.strictEqual(sent.filter(({ url }) => url.endsWith("whk_1")).length, 4)
      const gauge = Metric.withAttributes(Metrics.nodeWebhooks, {})
      assert.strictEqual((yield* Metric.value(gauge)).value, 512)
      // Who has waited has the places then.
      yield* TestClock.adjust("15 seconds")
      yield* soon(() => rows.filter(({ results }) => results.length > 0).length >= 512, "all over")
      yield* soon(() => sent.length > 512 + 100, "the next")
      assert.isBelow(before, 200)
      yield* TestClock.adjust("15 seconds")
      yield* stop
    }).pipe(Effect.provide(layerAtRest()), Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("keeps what came of it until the store is back, and claims nothing meanwhile", () =>
    Effect.gen(function* () {
      const { receiver, rows, sent, start, state, tell, webhook } = yield* makeReceivers
      let answer: (response: Response) => void = () => undefined
      receiver.answer = () =>
        new Promise((resolve) => {
          answer = resolve
        })
      yield* tell(yield* webhook())
      const { stop } = yield* start
      yield* soon(() => sent.length === 1, "sent")
      state.isAway = true
      answer(new Response(null, { status: 200 }))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(rows[0]?.status, "pending")
      state.isAway = false
      yield* soon(() => rows[0]?.status === "delivered", "written")
      assert.lengthOf(sent, 1)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("writes of the others where one can't be written of", () =>
    Effect.gen(function* () {
      const { rows, start, state, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      for (let n = 0; n < 4; n++) yield* tell(to)
      state.poison = rows[1]?.id
      const { stop } = yield* start
      yield* soon(() => rows.filter(({ status }) => status === "delivered").length === 3, "the others")
      assert.strictEqual(rows[1]?.status, "pending")
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("leaves to its lease what a slow store has given it too late", () =>
    Effect.gen(function* () {
      const { sent, start, state, tell, webhook } = yield* makeReceivers
      state.claimMillis = 11_000
      yield* tell(yield* webhook())
      const { stop } = yield* start
      yield* TestClock.adjust("13 seconds")
      assert.lengthOf(sent, 0)
      state.claimMillis = 0
      yield* TestClock.adjust("30 seconds")
      yield* soon(() => sent.length === 1, "sent after the lease")
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("claims no more when the process stops, and ends what is under way within the drain", () =>
    Effect.gen(function* () {
      const { receiver, rows, sent, start, state, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      let answer: (response: Response) => void = () => undefined
      receiver.answer = (one) =>
        one.headers["webhook-id"] === rows[0]?.event.id
          ? new Promise((resolve) => {
              answer = resolve
            })
          : never(one)
      yield* tell(to)
      yield* tell(to)
      const { close } = yield* start
      yield* soon(() => sent.length === 2, "both sent")
      yield* (yield* Lifecycle).startDraining
      yield* TestClock.adjust("1 seconds")
      const claims = state.claims.length
      yield* tell(to)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(state.claims.length, claims)
      const stopped = yield* Effect.forkChild(close)
      answer(new Response(null, { status: 200 }))
      yield* soon(() => rows[0]?.status === "delivered", "the first is written")
      // 3 of 10 s are over.
      yield* TestClock.adjust("6 seconds")
      assert.isUndefined(stopped.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(stopped)
      assert.deepStrictEqual(
        rows.map(({ status }) => status),
        ["delivered", "pending", "pending"]
      )
      // They are signed at the same time, so that either may be sent first.
      const left = sent.find(({ headers }) => headers["webhook-id"] === rows[1]?.event.id)
      assert.isTrue(left?.signal.aborted)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tells that a webhook was switched off, and counts", () => {
    const log = makeLog("Warn")
    return Effect.gen(function* () {
      const { receiver, rows, start, state, tell, webhook } = yield* makeReceivers
      yield* Metrics.begin
      receiver.answer = () => new Response(null, { status: 410 })
      yield* tell(yield* webhook())
      const [id, workspaceId] = ["whk_1" as WebhookId, "ws_1" as WorkspaceId]
      state.disabled.push({ id, workspaceId, reason: "gone" })
      const { stop } = yield* start
      yield* soon(() => rows[0]?.status === "failed" && log.entries.length > 0, "told")
      const [{ level, mark, reason, webhookId, workspaceId: of } = {}] = log.entries
      assert.deepStrictEqual(
        [level, mark, reason, webhookId, of],
        ["WARN", "webhook.disabled", "gone", id, workspaceId]
      )
      const gone = Metric.withAttributes(Metrics.webhookAttempts, { outcome: "gone" })
      assert.strictEqual((yield* Metric.value(gone)).count, 1)
      const disabled = Metric.withAttributes(Metrics.webhooksDisabled, { reason: "gone" })
      assert.strictEqual((yield* Metric.value(disabled)).count, 1)
      assert.strictEqual((yield* Metric.value(Metrics.webhookSeconds)).count, 1)
      yield* stop
    }).pipe(
      Effect.provide(layerAtRest()),
      Effect.provide(log.layer),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  })

  it.effect("shows the backlog while there are webhooks, and forgets what is older than the setting", () =>
    Effect.gen(function* () {
      const { receiver, start, state, tell, webhook } = yield* makeReceivers
      receiver.answer = never
      yield* TestClock.setTime(100 * day)
      yield* tell(yield* webhook())
      yield* tell(yield* webhook())
      const { stop } = yield* start
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual((yield* Metric.value(Metrics.webhookBacklog)).value, 2)
      assert.strictEqual((yield* Metric.value(Metrics.webhookOldest)).value, 15)
      // A full batch has another behind it.
      assert.deepStrictEqual(
        state.pruned.map((before) => Math.floor(before.getTime() / day)),
        [70, 70]
      )
      yield* TestClock.adjust("1 minutes")
      assert.lengthOf(state.pruned, 3)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()), Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
