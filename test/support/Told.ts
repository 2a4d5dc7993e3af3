import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Store } from "../../src/Layers/Repo/InMemory/Store.ts"
import type { WebhookId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { StoredWebhook } from "../../src/Schemas/Webhook.ts"
import { StoredWebhookEvent } from "../../src/Schemas/WebhookEvent.ts"
import { WebhookMessage } from "../../src/Schemas/WebhookMessage.ts"
import { payloadOf } from "../../src/Schemas/WebhookPayload.ts"
import { at, newId } from "./Fixtures.ts"

/** Where events are looked at as they are stored, whatever is made of them. */
const store = Effect.gen(function* () {
  const memory = yield* Effect.serviceOption(Store)
  const sql = yield* Effect.serviceOption(PgClient)
  return { memory: Option.getOrUndefined(memory), sql: Option.getOrUndefined(sql) }
})

/** A webhook that wants these; `isGone`: it was removed. */
export const makeWebhook = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  events: StoredWebhook["events"] = ["*"],
  { isActive = true, isGone = false } = {}
) {
  const { memory, sql } = yield* store
  const id = yield* newId<WebhookId>("webhook")
  const webhook: StoredWebhook = {
    id,
    workspaceId,
    url: "https://example.org/hook",
    description: null,
    events,
    isActive,
    disabledAt: null,
    disabledReason: null,
    sealedSecret: "sealed",
    previousSealedSecret: null,
    previousUntil: null,
    failingSince: null,
    createdAt: at(),
    updatedAt: at()
  }
  if (memory !== undefined && !isGone) memory.tables.webhooks.set(id, webhook)
  if (sql !== undefined) {
    yield* sql`
      insert into webhooks (id, workspace_id, url, events, is_active, sealed_secret, created_at, updated_at, deleted_at)
      values (${id}, ${workspaceId}, ${webhook.url}, ${JSON.stringify(events)}::jsonb, ${isActive},
        ${webhook.sealedSecret}, ${at()}, ${at()}, ${isGone ? at() : null})`
  }
  return id
})

const decode = Schema.decodeUnknownSync(StoredWebhookEvent)

/** The events of which there is a delivery to the webhook, oldest first, each of them as often as there is one. */
export const eventsOf = Effect.fnUntraced(function* (webhookId: WebhookId) {
  const { memory, sql } = yield* store
  if (memory !== undefined) {
    const { webhookDeliveries, webhookEvents } = memory.tables
    return Array.from(webhookDeliveries.values())
      .filter((delivery) => delivery.webhookId === webhookId && delivery.status === "pending")
      .flatMap(({ eventId }) => webhookEvents.get(eventId) ?? [])
  }
  const rows = yield* sql === undefined
    ? Effect.succeed([])
    : sql`
        select e.id, e.workspace_id as "workspaceId", e.type, e.at, e.facts, e.traceparent
        from webhook_deliveries d join webhook_events e on e.id = d.event_id
        where d.webhook_id = ${webhookId} and d.status = 'pending' and d.next_at <= clock_timestamp()
        order by e.at, e.id`
  return rows.map((row) => decode(row))
})

const decodeMessage = Schema.decodeUnknownSync(Schema.toCodecJson(WebhookMessage))

/** What is sent of them: it is what the document says of it. */
export const messagesOf = (webhookId: WebhookId) =>
  Effect.map(eventsOf(webhookId), (events) =>
    events.map((event) => {
      const payload = payloadOf(event)
      decodeMessage(payload)
      return payload
    })
  )

export const typesOf = (webhookId: WebhookId) =>
  Effect.map(eventsOf(webhookId), (events) => events.map(({ type }) => type))
