import * as Schema from "effect/Schema"
import { WebhookDeliveryId, WebhookEventId, WebhookId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"
import { StoredWebhookEvent } from "./WebhookEvent.ts"

export const WebhookDeliveryStatus = Schema.Literals(["pending", "delivered", "failed"])
export type WebhookDeliveryStatus = typeof WebhookDeliveryStatus.Type

/** What the last attempt has shown. */
export const WebhookAttempt = Schema.Struct({
  at: Timestamp,
  /** Of the answer; null: there was none. */
  statusCode: Schema.NullOr(Schema.Int),
  /** A sentence without a secret; null: it was taken. */
  error: Schema.NullOr(Schema.String),
  durationMs: Schema.Int
}).annotate({ identifier: "WebhookAttempt" })
export type WebhookAttempt = typeof WebhookAttempt.Type

/** One event on its way to one webhook (CONTRACT.md section 12). */
export const WebhookDelivery = Schema.Struct({
  id: WebhookDeliveryId,
  webhookId: WebhookId,
  eventId: WebhookEventId,
  type: StoredWebhookEvent.fields.type,
  status: WebhookDeliveryStatus,
  /** How many were begun since it was made or sent anew. */
  attempts: Schema.Int,
  /** Null once it is over. */
  nextAttemptAt: Schema.NullOr(Timestamp),
  lastAttempt: Schema.NullOr(WebhookAttempt),
  createdAt: Timestamp
}).annotate({ identifier: "WebhookDelivery" })
export type WebhookDelivery = typeof WebhookDelivery.Type
