import { PgClient } from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Store } from "../../src/Layers/Repo/InMemory/Store.ts"
import type { WebhookDeliveryId, WebhookEventId, WebhookId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { StoredWebhook } from "../../src/Schemas/Webhook.ts"
import type { StoredWebhookEvent } from "../../src/Schemas/WebhookEvent.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { at } from "./Fixtures.ts"

/** A delivery that is written with its event. */
export interface NewDelivery {
  readonly id: WebhookDeliveryId
  readonly webhookId: WebhookId
}

/** Rows as whatever happens writes them: an event with its deliveries, which are due at once. */
export class WebhookRows extends Context.Service<
  WebhookRows,
  {
    readonly webhook: (webhook: StoredWebhook) => Effect.Effect<void>
    readonly change: (
      id: WebhookId,
      change: Partial<Pick<StoredWebhook, "isActive" | "failingSince">>
    ) => Effect.Effect<void>
    readonly find: (id: WebhookId) => Effect.Effect<StoredWebhook | undefined>
    readonly event: (event: StoredWebhookEvent, deliveries: ReadonlyArray<NewDelivery>) => Effect.Effect<void>
  }
>()("test/support/Webhooks") {
  static readonly layerMemory = Layer.effect(
    WebhookRows,
    Effect.map(Store, ({ tables: { webhookDeliveries, webhookEvents, webhooks } }) =>
      WebhookRows.of({
        webhook: (webhook) => Effect.sync(() => void webhooks.set(webhook.id, webhook)),
        change: (id, change) =>
          Effect.sync(() => {
            const webhook = webhooks.get(id)
            if (webhook !== undefined) webhooks.set(id, { ...webhook, ...change })
          }),
        find: (id) => Effect.sync(() => webhooks.get(id)),
        event: (event, deliveries) =>
          Effect.clockWith((clock) =>
            Effect.sync(() => {
              webhookEvents.set(event.id, event)
              for (const { id, webhookId } of deliveries)
                webhookDeliveries.set(id, {
                  id,
                  webhookId,
                  eventId: event.id,
                  type: event.type,
                  status: "pending",
                  attempts: 0,
                  nextAttemptAt: new Date(clock.currentTimeMillisUnsafe()),
                  lastAttempt: null,
                  createdAt: event.at
                })
            })
          )
      })
    )
  ).pipe(Layer.provide(Store.layer))

  static readonly layerPostgres = Layer.effect(
    WebhookRows,
    Effect.map(PgClient, (sql) =>
      WebhookRows.of({
        webhook: ({ events, ...webhook }) =>
          Effect.orDie(
            Effect.asVoid(sql`
              insert into webhooks (id, workspace_id, url, description, events, is_active, disabled_at, disabled_reason,
                sealed_secret, previous_sealed_secret, previous_until, failing_since, created_at, updated_at)
              values (${webhook.id}, ${webhook.workspaceId}, ${webhook.url}, ${webhook.description}, ${sql.json(events)},
                ${webhook.isActive}, ${webhook.disabledAt}, ${webhook.disabledReason}, ${webhook.sealedSecret},
                ${webhook.previousSealedSecret}, ${webhook.previousUntil}, ${webhook.failingSince}, ${webhook.createdAt},
                ${webhook.updatedAt})`)
          ),
        change: (id, { failingSince, isActive }) =>
          Effect.orDie(
            Effect.asVoid(sql`
              update webhooks set is_active = coalesce(${isActive ?? null}::boolean, is_active),
                failing_since = coalesce(${failingSince ?? null}::timestamptz, failing_since)
              where id = ${id}`)
          ),
        find: (id) =>
          sql<StoredWebhook>`
            select id, workspace_id as "workspaceId", is_active as "isActive", disabled_at as "disabledAt",
              disabled_reason as "disabledReason", failing_since as "failingSince", url
            from webhooks where id = ${id}`.pipe(
            Effect.map(([row]) => row),
            Effect.orDie
          ),
        event: ({ facts, ...event }, deliveries) =>
          Effect.orDie(
            Effect.asVoid(sql`
              with event as (
                insert into webhook_events (id, workspace_id, type, at, facts, traceparent)
                values (${event.id}, ${event.workspaceId}, ${event.type}, ${event.at}, ${sql.json(facts)},
                  ${event.traceparent})
                returning id, at)
              insert into webhook_deliveries (id, event_id, webhook_id, next_at, created_at)
              select d.id, event.id, d."webhookId", clock_timestamp(), event.at
              from event, jsonb_to_recordset(${sql.json(deliveries)}) d (id text, "webhookId" text)`)
          )
      })
    )
  )
}

export const makeWebhook = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<StoredWebhook> = {}
) {
  const ids = yield* Ids
  const webhook: StoredWebhook = {
    id: yield* ids.make<WebhookId>("webhook"),
    workspaceId,
    url: "https://example.org/hook",
    description: null,
    events: ["run.completed"],
    isActive: true,
    disabledAt: null,
    disabledReason: null,
    createdAt: at(0),
    updatedAt: at(0),
    sealedSecret: "sealed",
    previousSealedSecret: null,
    previousUntil: null,
    failingSince: null,
    ...given
  }
  yield* (yield* WebhookRows).webhook(webhook)
  return webhook
})

/** An event that these webhooks are to be told of: the deliveries. */
export const tell = Effect.fnUntraced(function* (
  webhooks: ReadonlyArray<Pick<StoredWebhook, "id" | "workspaceId">>,
  given: Partial<StoredWebhookEvent> = {}
) {
  const ids = yield* Ids
  const rows = yield* WebhookRows
  const [first] = webhooks
  if (first === undefined) return []
  const deliveries: Array<NewDelivery> = []
  for (const { id } of webhooks)
    deliveries.push({ id: yield* ids.make<WebhookDeliveryId>("webhookDelivery"), webhookId: id })
  const event: StoredWebhookEvent = {
    id: yield* ids.make<WebhookEventId>("webhookEvent"),
    workspaceId: first.workspaceId,
    type: "run.completed",
    at: at(0),
    facts: { run: "r" },
    traceparent: null,
    ...given
  }
  yield* rows.event(event, deliveries)
  return deliveries.map(({ id }) => id)
})
