import * as Effect from "effect/Effect"
import type { StoredWebhook } from "../../../../Schemas/Webhook.ts"
import type { WebhookDelivery } from "../../../../Schemas/WebhookDelivery.ts"
import type { WebhookOutbox } from "../../../../Services/WebhookOutbox.ts"
import { type Moment, moment } from "../RunRepo/Moment.ts"
import type { Tables } from "../Store.ts"

/** Under which it is kept how many claims have served a webhook. */
const claims = ""

/** In how many milliseconds it may be attempted: 0 or less is now. */
const restOf = (
  { webhookLeases }: Tables,
  { id, nextAttemptAt }: WebhookDelivery,
  { at, millis }: Moment
) => {
  const until = webhookLeases.get(id)
  return until === undefined ? (nextAttemptAt?.getTime() ?? 0) - at.getTime() : until - millis
}

/** For so long what is leased at once of a webhook that answers at once keeps others of it from being leased. */
const quickMillis = 1_000

type Options = Pick<Parameters<WebhookOutbox["Service"]["claim"]>[0], "leaseMillis" | "perWebhook" | "quick">

/** What waits for a webhook, next first, and how many more may be leased of it. */
interface Waiting {
  readonly webhook: StoredWebhook
  readonly rests: ReadonlyArray<{ readonly delivery: WebhookDelivery; readonly rest: number }>
  readonly room: number
  /** In how many milliseconds there may be more, though no lease ends. */
  readonly roomIn: number | null
}

/** Of webhooks that are active. */
export const waitingOf = (
  tables: Tables,
  now: Moment,
  { leaseMillis, perWebhook, quick }: Options
): ReadonlyArray<Waiting> => {
  const roomOf = (
    { failingSince, id }: StoredWebhook,
    leases: ReadonlyArray<number>
  ): Pick<Waiting, "room" | "roomIn"> => {
    const room = Math.max(0, (failingSince === null ? perWebhook : Math.min(1, perWebhook)) - leases.length)
    if (failingSince !== null || quick?.ids.includes(id) !== true) return { room, roomIn: null }
    if (leases.length === 0) return { room: quick.perWebhook, roomIn: null }
    const roomIn = Math.max(...leases) + quickMillis - leaseMillis - now.millis
    return roomIn < 0 ? { room, roomIn: null } : { room: 0, roomIn }
  }
  const pending = Array.from(tables.webhookDeliveries.values()).filter(({ status }) => status === "pending")
  return Array.from(Map.groupBy(pending, ({ webhookId }) => webhookId)).flatMap(([webhookId, deliveries]) => {
    const webhook = tables.webhooks.get(webhookId)
    if (webhook?.isActive !== true) return []
    const rests = deliveries
      .map((delivery) => ({ delivery, rest: restOf(tables, delivery, now) }))
      .sort((a, b) => a.rest - b.rest || (a.delivery.id < b.delivery.id ? -1 : 1))
    const leases = deliveries.flatMap(({ id }) => tables.webhookLeases.get(id) ?? [])
    const held = leases.filter((until) => until > now.millis)
    return [{ webhook, rests, ...roomOf(webhook, held) }]
  })
}

const isDue = ({ rest }: Waiting["rests"][number]) => rest <= 0

/** In turns: of each workspace that first which waits longest, and workspaces by when they were served last. */
const inTurns = ({ webhooksServed: served }: Tables, waiting: ReadonlyArray<Waiting>) => {
  const servedAt = (id: string) => served.get(id) ?? 0
  return Array.from(Map.groupBy(waiting, ({ webhook }) => webhook.workspaceId))
    .flatMap(([workspaceId, its]) =>
      its
        .toSorted((a, b) => servedAt(a.webhook.id) - servedAt(b.webhook.id))
        .map((each, turn) => ({ ...each, turn, served: servedAt(workspaceId) }))
    )
    .sort((a, b) => a.turn - b.turn || a.served - b.served)
}

export const make = (tables: Tables): Pick<WebhookOutbox["Service"], "claim"> => {
  const { webhookDeliveries, webhookEvents, webhookLeases, webhooks, webhooksServed } = tables

  const lease = ({ at, millis }: Moment, delivery: WebhookDelivery, leaseMillis: number) => {
    const attempts = delivery.attempts + 1
    webhookLeases.set(delivery.id, millis + leaseMillis)
    webhookDeliveries.set(delivery.id, {
      ...delivery,
      attempts,
      nextAttemptAt: new Date(at.getTime() + leaseMillis)
    })
    return attempts
  }

  return {
    claim: ({ exceptWorkspaces = [], leaseMillis, limit, perWebhook, quick }) =>
      Effect.map(moment, (now) => {
        const open = (tables: Tables) =>
          waitingOf(tables, now, { leaseMillis, perWebhook, quick }).filter(
            ({ webhook }) => !exceptWorkspaces.includes(webhook.workspaceId)
          )
        const deliveries = inTurns(tables, open(tables))
          .flatMap(({ rests, room, webhook }) =>
            rests
              .filter(isDue)
              .slice(0, room)
              .map(({ delivery }) => ({ delivery, webhook }))
          )
          .slice(0, limit)
          .flatMap(({ delivery, webhook }) => {
            const event = webhookEvents.get(delivery.eventId)
            if (event === undefined) return []
            const place = (webhooksServed.get(claims) ?? 0) + 1
            for (const id of [claims, webhook.id, webhook.workspaceId]) webhooksServed.set(id, place)
            return [{ id: delivery.id, attempt: lease(now, delivery, leaseMillis), webhook, event }]
          })
        // Of a webhook that has no room, when the next lease ends.
        const rests = open(tables).flatMap((each) => [
          ...(each.room > 0 ? each.rests : each.rests.filter((rest) => !isDue(rest)))
            .slice(0, 1)
            .map(({ rest }) => Math.max(0, rest)),
          ...(each.roomIn !== null && each.rests.some(isDue) ? [each.roomIn] : [])
        ])
        return {
          deliveries,
          untilNextMillis: rests.length === 0 ? null : Math.min(...rests),
          isUsed: Array.from(webhooks.values()).some(({ isActive }) => isActive)
        }
      })
  }
}
