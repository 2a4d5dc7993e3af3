import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import { Forbidden, NotFound } from "../../src/Schemas/Errors.ts"
import type { WebhookDeliveryId, WebhookId } from "../../src/Schemas/Ids.ts"
import { WebhookInactive } from "../../src/Schemas/Webhook.ts"
import { keyOf } from "../../src/Schemas/WebhookSignature.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { WebhookRepo } from "../../src/Services/WebhookRepo.ts"
import { Webhooks } from "../../src/Services/Webhooks.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"

const url = "https://example.org/hook"
const day = 86_400_000

const makeWebhook = Effect.gen(function* () {
  yield* TestClock.setTime(1_000)
  const webhooks = yield* Webhooks
  const { user, workspaceId } = yield* makeTenant()
  const { secret, ...webhook } = yield* webhooks.create(user, { workspaceId, url, events: ["run.failed"] })
  return { secret, user, webhook, webhooks, workspaceId }
})

const stored = (id: WebhookId) =>
  Effect.flatMap(WebhookRepo, (repo) => Effect.map(repo.find(id), Option.getOrThrow))

const opened = (id: string, sealed: string | null) =>
  Effect.flatMap(SecretBox, (box) => Effect.map(box.open(id, sealed ?? ""), Redacted.value))

describe("Webhooks", () => {
  it.effect("shows the secret once, and seals it for its row", () =>
    Effect.gen(function* () {
      const { secret, user, webhook, webhooks, workspaceId } = yield* makeWebhook
      assert.deepStrictEqual(webhook, {
        id: webhook.id,
        workspaceId,
        url,
        description: null,
        events: ["run.failed"],
        isActive: true,
        disabledAt: null,
        disabledReason: null,
        createdAt: new Date(1_000),
        updatedAt: new Date(1_000)
      })
      assert.strictEqual(keyOf(secret)?.length, 32)
      assert.deepStrictEqual(yield* webhooks.list(user, workspaceId), [webhook])
      assert.deepStrictEqual(yield* webhooks.find(user, webhook.id), webhook)
      assert.deepStrictEqual(yield* webhooks.update(user, webhook.id, {}), webhook)
      const row = yield* stored(webhook.id)
      assert.notInclude(JSON.stringify(row), secret.slice("whsec_".length))
      assert.strictEqual(yield* opened(webhook.id, row.sealedSecret), secret)
      yield* Effect.flip(opened("wh_other", row.sealedSecret))
      const other = yield* webhooks.create(user, { workspaceId, url, events: ["*"] })
      assert.notStrictEqual(other.secret, secret)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("changes what is given, folds names, and clears a description", () =>
    Effect.gen(function* () {
      const { user, webhook, webhooks } = yield* makeWebhook
      yield* TestClock.adjust(1_000)
      const events = ["turn.failed", "*", "turn.failed"] as const
      const changed = yield* webhooks.update(user, webhook.id, {
        events,
        description: "ours",
        isActive: false
      })
      const expected = {
        ...webhook,
        events: ["turn.failed", "*"],
        description: "ours",
        isActive: false,
        updatedAt: new Date(2_000)
      }
      assert.deepStrictEqual<unknown>(changed, expected)
      const cleared = yield* webhooks.update(user, webhook.id, { description: null, url: `${url}/2` })
      assert.deepStrictEqual<unknown>(cleared, { ...expected, description: null, url: `${url}/2` })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lets the secret before sign for a day, and one before that no longer", () =>
    Effect.gen(function* () {
      const { secret, user, webhook, webhooks } = yield* makeWebhook
      const { secret: second, ...shown } = yield* webhooks.rotateSecret(user, webhook.id)
      assert.deepStrictEqual(shown, webhook)
      const row = yield* stored(webhook.id)
      assert.strictEqual(yield* opened(webhook.id, row.sealedSecret), second)
      assert.strictEqual(yield* opened(webhook.id, row.previousSealedSecret), secret)
      assert.deepStrictEqual(row.previousUntil, new Date(1_000 + day))
      yield* TestClock.adjust(5_000)
      const { secret: third } = yield* webhooks.rotateSecret(user, webhook.id)
      const again = yield* stored(webhook.id)
      assert.strictEqual(yield* opened(webhook.id, again.sealedSecret), third)
      assert.strictEqual(yield* opened(webhook.id, again.previousSealedSecret), second)
      assert.deepStrictEqual(again.previousUntil, new Date(6_000 + day))
      assert.lengthOf(new Set([secret, second, third]), 3)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("sends no test where it is off, and redelivers what was", () =>
    Effect.gen(function* () {
      const { user, webhook, webhooks } = yield* makeWebhook
      const { id } = webhook
      yield* webhooks.update(user, id, { isActive: false })
      const refused = yield* Effect.flip(webhooks.test(user, id))
      assert.instanceOf(refused, WebhookInactive)
      assert.deepStrictEqual(yield* webhooks.deliveries(user, { id, limit: 5 }), {
        deliveries: [],
        next: null
      })
      yield* webhooks.update(user, id, { isActive: true })
      const made = yield* webhooks.test(user, id)
      assert.deepInclude(made, { webhookId: id, type: "webhook.test", status: "pending", attempts: 0 })
      const again = yield* webhooks.redeliver(user, made.id)
      assert.deepInclude(again, { id: made.id, eventId: made.eventId, status: "pending" })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("gives deliveries a page at a time, each once, the newest first", () =>
    Effect.gen(function* () {
      const { user, webhook, webhooks } = yield* makeWebhook
      const { id } = webhook
      const made: Array<WebhookDeliveryId> = []
      for (let index = 0; index < 5; index++) {
        yield* TestClock.adjust(1_000)
        made.unshift((yield* webhooks.test(user, id)).id)
      }
      const page = (limit: number, after?: WebhookDeliveryId) =>
        Effect.map(webhooks.deliveries(user, { id, limit, after }), ({ deliveries, next }) => ({
          ids: deliveries.map((delivery) => delivery.id),
          next
        }))
      assert.deepStrictEqual(yield* page(2), { ids: made.slice(0, 2), next: made[1] ?? null })
      assert.deepStrictEqual(yield* page(2, made[1]), { ids: made.slice(2, 4), next: made[3] ?? null })
      assert.deepStrictEqual(yield* page(2, made[3]), { ids: made.slice(4), next: null })
      // As many as there are: no page is behind.
      assert.deepStrictEqual(yield* page(5), { ids: made, next: null })
      const failed = yield* webhooks.deliveries(user, { id, limit: 5, status: "failed" })
      assert.deepStrictEqual(failed, { deliveries: [], next: null })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is gone with its deliveries", () =>
    Effect.gen(function* () {
      const { user, webhook, webhooks, workspaceId } = yield* makeWebhook
      const { id } = webhook
      const delivery = yield* webhooks.test(user, id)
      yield* webhooks.remove(user, id)
      assert.deepStrictEqual(yield* webhooks.list(user, workspaceId), [])
      for (const call of [
        webhooks.find(user, id),
        webhooks.update(user, id, { isActive: true }),
        webhooks.rotateSecret(user, id),
        webhooks.test(user, id),
        webhooks.deliveries(user, { id, limit: 1 }),
        webhooks.redeliver(user, delivery.id),
        webhooks.remove(user, id)
      ])
        assert.instanceOf(yield* Effect.flip<unknown, unknown, never>(call), NotFound)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is for owners alone, and tells strangers nothing", () =>
    Effect.gen(function* () {
      const { user, webhook, webhooks, workspaceId } = yield* makeWebhook
      const { id } = webhook
      const delivery = yield* webhooks.test(user, id)
      const { user: member } = yield* makeTenant()
      const { user: stranger } = yield* makeTenant()
      yield* (yield* WorkspaceRepo).addMember(workspaceId, member.id, "member", new Date(0))
      const refusals = Effect.fnUntraced(function* (by: typeof user) {
        const inWorkspace = [
          webhooks.create(by, { workspaceId, url, events: ["*"] }),
          webhooks.list(by, workspaceId)
        ]
        const byId = [
          webhooks.find(by, id),
          webhooks.update(by, id, { isActive: false }),
          webhooks.remove(by, id),
          webhooks.rotateSecret(by, id),
          webhooks.test(by, id),
          webhooks.deliveries(by, { id, limit: 1 }),
          webhooks.redeliver(by, delivery.id)
        ]
        const flipped = (calls: ReadonlyArray<Effect.Effect<unknown, unknown>>) =>
          Effect.forEach(calls, (call) => Effect.flip(call))
        return { inWorkspace: yield* flipped(inWorkspace), byId: yield* flipped(byId) }
      })
      const ofMember = yield* refusals(member)
      for (const error of [...ofMember.inWorkspace, ...ofMember.byId]) assert.instanceOf(error, Forbidden)
      const ofStranger = yield* refusals(stranger)
      for (const error of ofStranger.inWorkspace) assert.instanceOf(error, Forbidden)
      for (const error of ofStranger.byId) assert.instanceOf(error, NotFound)
      const absent = yield* Effect.flip(webhooks.find(stranger, "wh_absent" as WebhookId))
      assert.deepStrictEqual(absent, ofStranger.byId[0] as typeof absent)
      assert.deepStrictEqual(yield* webhooks.list(user, workspaceId), [webhook])
    }).pipe(Effect.provide(layerOffline()))
  )
})
