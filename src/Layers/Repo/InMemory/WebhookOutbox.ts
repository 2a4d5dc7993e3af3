import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { idOf, type WebhookDeliveryId, type WebhookEventId, type WebhookId } from "../../../Schemas/Ids.ts"
import type { WebhookDelivery } from "../../../Schemas/WebhookDelivery.ts"
import { testType } from "../../../Schemas/WebhookEvent.ts"
import { Signals } from "../../../Services/Signals.ts"
import { mostBacklog, WebhookOutbox } from "../../../Services/WebhookOutbox.ts"
import * as Entries from "../Entries.ts"
import { moment } from "./RunRepo/Moment.ts"
import { layer as layerSignals } from "./Signals.ts"
import { Store, type Tables } from "./Store.ts"
import { make as makeClaim, waitingOf } from "./WebhookOutbox/Claim.ts"
import { make as makeSettle } from "./WebhookOutbox/Settle.ts"

const newestFirst = (a: WebhookDelivery, b: WebhookDelivery) =>
  b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1)

const listOf = (
  { webhookDeliveries }: Tables,
  { after, limit, status, webhookId }: Parameters<WebhookOutbox["Service"]["list"]>[0]
) => {
  const last = after === null ? null : webhookDeliveries.get(after)
  if (last === undefined) return []
  return Array.from(webhookDeliveries.values())
    .filter((each) => each.webhookId === webhookId && (status === undefined || each.status === status))
    .filter((each) => last === null || (each.id !== last.id && newestFirst(last, each) < 0))
    .sort(newestFirst)
    .slice(0, limit)
}

const forget = ({ webhookDeliveries, webhookEvents, webhookLeases }: Tables, before: Date, limit: number) => {
  const old = Array.from(webhookEvents.values())
    .filter(({ at }) => at < before)
    .sort((a, b) => a.at.getTime() - b.at.getTime())
    .slice(0, limit)
  const ids = new Set<string>(old.map(({ id }) => id))
  for (const id of ids) webhookEvents.delete(id)
  for (const { eventId, id } of webhookDeliveries.values()) {
    if (!ids.has(eventId)) continue
    webhookDeliveries.delete(id)
    webhookLeases.delete(id)
  }
  return old.length
}

export const layer = Layer.effect(
  WebhookOutbox,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const signals = yield* Signals
    const random = yield* SecureRandom.SecureRandom
    const { webhookDeliveries, webhookEvents, webhookLeases, webhooks } = tables

    const told = (made: Effect.Effect<Option.Option<WebhookDelivery>>) =>
      Effect.tap(made, (due) => (Option.isSome(due) ? signals.publish({ type: "webhooks" }) : Effect.void))

    const keep = (delivery: WebhookDelivery) => {
      webhookDeliveries.set(delivery.id, delivery)
      return Option.some(delivery)
    }

    return WebhookOutbox.of(
      guard({
        ...makeClaim(tables),
        ...makeSettle(tables, yield* Entries.make),
        list: (filter) => Effect.sync(() => listOf(tables, filter)),
        find: (id) =>
          Effect.sync(() => {
            const delivery = webhookDeliveries.get(id)
            const webhook = delivery && webhooks.get(delivery.webhookId)
            return delivery === undefined || webhook === undefined
              ? Option.none()
              : Option.some({ ...delivery, workspaceId: webhook.workspaceId })
          }),
        redeliver: (id) =>
          Effect.map(moment, ({ at, millis }): Option.Option<WebhookDelivery> => {
            const delivery = webhookDeliveries.get(id)
            if (delivery === undefined || !webhooks.has(delivery.webhookId)) return Option.none()
            const isLeased = (webhookLeases.get(id) ?? 0) > millis
            if (!isLeased) webhookLeases.delete(id)
            const nextAttemptAt = isLeased ? delivery.nextAttemptAt : at
            return keep({ ...delivery, status: "pending", attempts: 0, nextAttemptAt })
          }).pipe(told),
        test: Effect.fnUntraced(function* (webhookId: WebhookId, at: Date) {
          const id = idOf<WebhookDeliveryId>("webhookDelivery", yield* random.ulid)
          const eventId = idOf<WebhookEventId>("webhookEvent", yield* random.ulid)
          const now = yield* moment
          const webhook = webhooks.get(webhookId)
          if (webhook?.isActive !== true) return Option.none()
          const { workspaceId } = webhook
          webhookEvents.set(eventId, {
            id: eventId,
            workspaceId,
            type: testType,
            at,
            facts: {},
            traceparent: null
          })
          return keep({
            id,
            webhookId,
            eventId,
            type: testType,
            status: "pending",
            attempts: 0,
            nextAttemptAt: now.at,
            lastAttempt: null,
            createdAt: at
          })
        }, told),
        backlog: Effect.map(moment, (now) => {
          const rests = waitingOf(tables, now, { leaseMillis: 0, perWebhook: 0 }).flatMap((each) =>
            each.rests.map(({ rest }) => rest)
          )
          return {
            pending: Math.min(rests.length, mostBacklog),
            oldestSeconds: Math.max(0, ...rests.map((rest) => -rest)) / 1000
          }
        }),
        prune: (before, limit) => Effect.sync(() => forget(tables, before, limit))
      } satisfies WebhookOutbox["Service"])
    )
  })
).pipe(Layer.provide(layerSignals), Layer.provide(SecureRandom.layerWebCrypto))
