import * as Effect from "effect/Effect"
import type { StoredWebhook, WebhookDisabledReason } from "../../../../Schemas/Webhook.ts"
import type { WebhookDelivery } from "../../../../Schemas/WebhookDelivery.ts"
import { actingAs, auditedAll } from "../../../../Services/Audited.ts"
import type { Attempted, WebhookOutbox } from "../../../../Services/WebhookOutbox.ts"
import type * as Entries from "../../Entries.ts"
import { keepEntries } from "../AuditEntries.ts"
import { type Moment, moment } from "../RunRepo/Moment.ts"
import type { Tables } from "../Store.ts"

const after = (at: Date, millis: number) => new Date(at.getTime() + millis)

/** A webhook behind these attempts, in their order. */
const judged = (
  webhook: StoredWebhook,
  outcomes: ReadonlyArray<Attempted["outcome"]["type"]>,
  { at }: Moment,
  failingMillis: number
): { readonly webhook: StoredWebhook; readonly reason: WebhookDisabledReason | null } => {
  const succeeded = outcomes.lastIndexOf("delivered")
  const known = succeeded < 0 ? webhook.failingSince : null
  const isFailing = succeeded < outcomes.length - 1
  const failingSince = isFailing ? (known ?? at) : null
  const hasFailedLong = known !== null && known.getTime() <= at.getTime() - failingMillis
  const reason = outcomes.includes("gone") ? "gone" : hasFailedLong ? "failing" : null
  return webhook.isActive && reason !== null
    ? {
        reason,
        webhook: {
          ...webhook,
          failingSince,
          isActive: false,
          disabledAt: at,
          disabledReason: reason,
          updatedAt: at
        }
      }
    : { reason: null, webhook: { ...webhook, failingSince } }
}

export const make = (
  tables: Tables,
  entriesOf: Effect.Success<typeof Entries.make>
): Pick<WebhookOutbox["Service"], "settle" | "giveBack"> => {
  const { webhookDeliveries, webhookLeases, webhooks } = tables

  /** False when it is not the latest attempt, or was sent anew meanwhile. */
  const write = ({ attempt, id, outcome, result }: Attempted, { at }: Moment): WebhookDelivery | null => {
    const delivery = webhookDeliveries.get(id)
    if (delivery?.status !== "pending" || !webhookLeases.has(id)) return null
    const isAnew = delivery.attempts === 0
    if (!isAnew && delivery.attempts !== attempt) return null
    webhookLeases.delete(id)
    if (isAnew) {
      webhookDeliveries.set(id, { ...delivery, nextAttemptAt: at })
      return null
    }
    const written = {
      ...delivery,
      status: ({ retry: "pending", delivered: "delivered", failed: "failed", gone: "failed" } as const)[
        outcome.type
      ],
      nextAttemptAt: outcome.type === "retry" ? after(at, outcome.afterMillis) : null,
      lastAttempt: result
    }
    webhookDeliveries.set(id, written)
    return written
  }

  return {
    giveBack: (claimed) =>
      Effect.map(moment, ({ at }) => {
        for (const { attempt, id } of claimed) {
          const delivery = webhookDeliveries.get(id)
          if (delivery?.status !== "pending" || !webhookLeases.has(id)) continue
          if (delivery.attempts !== 0 && delivery.attempts !== attempt) continue
          webhookLeases.delete(id)
          const attempts = Math.max(0, delivery.attempts - 1)
          webhookDeliveries.set(id, { ...delivery, attempts, nextAttemptAt: at })
        }
      }),
    settle: (attempted, failingMillis) =>
      Effect.zipWith(moment, entriesOf, (now, entries) => {
        const outcomes = new Map<string, Array<Attempted["outcome"]["type"]>>()
        for (const each of attempted) {
          const written = write(each, now)
          if (written === null) continue
          outcomes.set(written.webhookId, [...(outcomes.get(written.webhookId) ?? []), each.outcome.type])
        }
        const disabled = Array.from(outcomes).flatMap(([id, those]) => {
          const stored = webhooks.get(id)
          if (stored === undefined) return []
          const { reason, webhook } = judged(stored, those, now, failingMillis)
          webhooks.set(id, webhook)
          return reason === null ? [] : [{ id: webhook.id, workspaceId: webhook.workspaceId, reason }]
        })
        keepEntries(tables, entries, disabled)
        return disabled.sort((a, b) => (a.id < b.id ? -1 : 1))
      }).pipe(auditedAll("webhook.disabled"), actingAs({ system: "webhooks" }))
  }
}
