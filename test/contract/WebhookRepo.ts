import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { WebhookId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { StoredWebhook } from "../../src/Schemas/Webhook.ts"
import { WebhookOutbox } from "../../src/Services/WebhookOutbox.ts"
import { WebhookRepo } from "../../src/Services/WebhookRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"

const most = { free: 2, pro: null }

const newWebhook = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<StoredWebhook> = {}
): Effect.fn.Return<StoredWebhook, never, Effect.Services<ReturnType<typeof newId<WebhookId>>>> {
  return {
    id: yield* newId<WebhookId>("webhook"),
    workspaceId,
    url: "https://example.org/hook?of=agentd",
    description: unicode,
    events: ["run.failed", "*"],
    isActive: true,
    disabledAt: null,
    disabledReason: null,
    sealedSecret: "sealed",
    previousSealedSecret: null,
    previousUntil: null,
    failingSince: null,
    createdAt: at(0),
    updatedAt: at(0),
    ...given
  }
})

export const makeWebhook = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<StoredWebhook> = {}
) {
  const webhook = yield* newWebhook(workspaceId, given)
  yield* (yield* WebhookRepo).insert(webhook)
  return webhook
})

export const suite = (it: It) =>
  describe("WebhookRepo", () => {
    it.effect("finds what was inserted, and lists those of the workspace, oldest first", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const workspaceId = yield* makeWorkspace
        assert.deepStrictEqual(yield* repo.list(workspaceId), [])
        const young = yield* makeWebhook(workspaceId, {
          isActive: false,
          disabledAt: at(1),
          disabledReason: "failing",
          failingSince: at(-9),
          previousSealedSecret: "before",
          previousUntil: at(9)
        })
        const old = yield* makeWebhook(workspaceId, { createdAt: at(-1), description: null })
        const other = yield* makeWebhook(yield* makeWorkspace)
        for (const webhook of [young, old, other])
          assert.deepStrictEqual(yield* repo.find(webhook.id), Option.some(webhook))
        assert.deepStrictEqual(yield* repo.list(workspaceId), [old, young])
        assert.deepStrictEqual(yield* repo.find(yield* newId<WebhookId>("webhook")), Option.none())
      })
    )

    it.effect("has no more than the plan allows, of those that are there", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const workspaceId = yield* makeWorkspace
        const insert = Effect.flatMap(newWebhook(workspaceId), (webhook) =>
          Effect.as(repo.insert(webhook, most), webhook.id)
        )
        const first = yield* insert
        yield* insert
        const refused = yield* Effect.flip(insert)
        assert.include(refused, {
          _tag: "PlanLimitExceeded",
          error: "webhooks: the free plan allows at most 2"
        })
        yield* repo.remove(first)
        yield* insert
        assert.strictEqual((yield* Effect.flip(insert))._tag, "PlanLimitExceeded")
      })
    )

    it.effect("has room for one that is made at the same time, and for no other", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const workspaceId = yield* makeWorkspace
        const insert = Effect.flatMap(newWebhook(workspaceId), (webhook) => repo.insert(webhook, most))
        yield* Effect.all(
          Array.from({ length: 6 }, () => Effect.exit(insert)),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(yield* repo.list(workspaceId), 2)
      })
    )

    it.effect("changes what is given, and nothing else", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const webhook = yield* makeWebhook(yield* makeWorkspace)
        const renamed = { ...webhook, description: null, updatedAt: at(5) }
        assert.deepStrictEqual(
          yield* repo.update(webhook.id, { description: null }, at(5)),
          Option.some(renamed)
        )
        const change = { url: "http://example.org", events: ["cron.missed"], isActive: false } as const
        const changed = { ...renamed, ...change, updatedAt: at(6) }
        assert.deepStrictEqual(yield* repo.update(webhook.id, change, at(6)), Option.some(changed))
        assert.deepStrictEqual(yield* repo.find(webhook.id), Option.some(changed))
        assert.deepStrictEqual(
          yield* repo.update(yield* newId<WebhookId>("webhook"), change, at(6)),
          Option.none()
        )
      })
    )

    it.effect("forgets why it was switched off when it is switched on, and not before", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const off = {
          isActive: false,
          disabledAt: at(1),
          disabledReason: "gone",
          failingSince: at(0)
        } as const
        const webhook = yield* makeWebhook(yield* makeWorkspace, off)
        const renamed = yield* repo.update(webhook.id, { description: "d" }, at(2))
        assert.deepInclude(Option.getOrThrow(renamed), off)
        assert.deepInclude(Option.getOrThrow(yield* repo.update(webhook.id, { isActive: true }, at(3))), {
          isActive: true,
          disabledAt: null,
          disabledReason: null,
          failingSince: null
        })
      })
    )

    it.effect("keeps the secret before the new one, and none before that", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const webhook = yield* makeWebhook(yield* makeWorkspace)
        yield* repo.rotate(webhook.id, { sealedSecret: "second", previousUntil: at(10) }, at(1))
        const third = yield* repo.rotate(webhook.id, { sealedSecret: "third", previousUntil: at(11) }, at(2))
        const expected = {
          ...webhook,
          sealedSecret: "third",
          previousSealedSecret: "second",
          previousUntil: at(11),
          updatedAt: at(2)
        }
        assert.deepStrictEqual(third, Option.some(expected))
        assert.deepStrictEqual(yield* repo.find(webhook.id), Option.some(expected))
      })
    )

    it.effect("is gone at once when it is removed, with what was to be told to it", () =>
      Effect.gen(function* () {
        const repo = yield* WebhookRepo
        const outbox = yield* WebhookOutbox
        const workspaceId = yield* makeWorkspace
        const [webhook, other] = [yield* makeWebhook(workspaceId), yield* makeWebhook(workspaceId)]
        const delivery = Option.getOrThrow(yield* outbox.test(webhook.id, at(1)))
        assert.isTrue(yield* repo.remove(webhook.id))
        assert.isFalse(yield* repo.remove(webhook.id))
        assert.deepStrictEqual(yield* repo.find(webhook.id), Option.none())
        assert.deepStrictEqual(yield* repo.list(workspaceId), [other])
        assert.deepStrictEqual(yield* repo.update(webhook.id, { isActive: true }, at(2)), Option.none())
        const secret = { sealedSecret: "new", previousUntil: at(3) }
        assert.deepStrictEqual(yield* repo.rotate(webhook.id, secret, at(2)), Option.none())
        assert.deepStrictEqual(yield* outbox.test(webhook.id, at(2)), Option.none())
        assert.deepStrictEqual(yield* outbox.redeliver(delivery.id), Option.none())
      })
    )
  })
