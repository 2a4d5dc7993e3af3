import * as Schema from "effect/Schema"
import { WebhookEventId, WorkspaceId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a webhook can be told of (CONTRACT.md section 12). */
export const WebhookEventType = Schema.Literals([
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.waiting_approval",
  "approval.decided",
  "turn.completed",
  "turn.failed",
  "cron.missed",
  "connector.error",
  "connector.recovered",
  "budget.reached"
])
export type WebhookEventType = typeof WebhookEventType.Type

/** What an owner has sent to see whether it arrives; to one webhook alone. */
export const testType = "webhook.test"

/** Something that happened, written in the transaction in which it did. */
export const StoredWebhookEvent = Schema.Struct({
  /** What goes out as `webhook-id`, at each attempt and to each webhook. */
  id: WebhookEventId,
  workspaceId: WorkspaceId,
  type: Schema.Union([WebhookEventType, Schema.Literal(testType)]),
  at: Timestamp,
  /** What was stored then, out of which the payload is built whenever it is sent. */
  facts: Schema.Unknown,
  /** Of the work that it is of (W3C Trace Context), if that was traced. */
  traceparent: Schema.NullOr(Schema.String)
})
export type StoredWebhookEvent = typeof StoredWebhookEvent.Type
