import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { StoredWebhook } from "../../../Schemas/Webhook.ts"
import { WebhookRepo } from "../../../Services/WebhookRepo.ts"
import { inOrder } from "./Order.ts"
import { unlessFullIn } from "./Quotas.ts"
import { Store } from "./Store.ts"

const switchedOn = { disabledAt: null, disabledReason: null, failingSince: null }

export const layer = Layer.effect(
  WebhookRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { webhookDeliveries, webhookLeases, webhooks } = tables
    const change = (id: string, changed: (webhook: StoredWebhook) => Partial<StoredWebhook>) =>
      Effect.sync(() => {
        const webhook = webhooks.get(id)
        if (webhook === undefined) return Option.none()
        const written = { ...webhook, ...changed(webhook) }
        webhooks.set(id, written)
        return Option.some(written)
      })
    return guard(
      WebhookRepo.of({
        insert: (webhook, most) =>
          unlessFullIn(
            tables,
            "webhooks",
            webhook.workspaceId,
            most,
            () => void webhooks.set(webhook.id, webhook)
          ),
        find: (id) => Effect.sync(() => Option.fromNullishOr(webhooks.get(id))),
        list: (workspaceId) =>
          Effect.sync(() =>
            Array.from(webhooks.values())
              .filter((webhook) => webhook.workspaceId === workspaceId)
              .sort(inOrder("createdAt"))
          ),
        update: (id, changes, at) =>
          change(id, () => ({ ...changes, ...(changes.isActive === true && switchedOn), updatedAt: at })),
        rotate: (id, { previousUntil, sealedSecret }, at) =>
          change(id, (webhook) => ({
            sealedSecret,
            previousSealedSecret: webhook.sealedSecret,
            previousUntil,
            updatedAt: at
          })),
        remove: (id) =>
          Effect.sync(() => {
            for (const delivery of webhookDeliveries.values()) {
              if (delivery.webhookId !== id) continue
              webhookDeliveries.delete(delivery.id)
              webhookLeases.delete(delivery.id)
            }
            return webhooks.delete(id)
          })
      })
    )
  })
)
