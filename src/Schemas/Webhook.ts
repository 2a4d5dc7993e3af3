import * as Schema from "effect/Schema"
import { WebhookId, WorkspaceId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"
import { WebhookEventType } from "./WebhookEvent.ts"

/** Why a webhook was switched off by itself: its receiver said so (410), or took nothing for five days. */
export const WebhookDisabledReason = Schema.Literals(["gone", "failing"])
export type WebhookDisabledReason = typeof WebhookDisabledReason.Type

/** CONTRACT.md section 12. The secret is shown at creation and rotation alone. */
export const Webhook = Schema.Struct({
  id: WebhookId,
  workspaceId: WorkspaceId,
  url: Schema.String,
  description: Schema.NullOr(Schema.String),
  /** Of these it is told; `*`: of all. */
  events: Schema.Array(Schema.Union([WebhookEventType, Schema.Literal("*")])),
  isActive: Schema.Boolean,
  /** When and why it was switched off by itself; both null since an owner has switched it on. */
  disabledAt: Schema.NullOr(Timestamp),
  disabledReason: Schema.NullOr(WebhookDisabledReason),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type

/** As it is stored: secrets are sealed, each bound to the id of the webhook. */
export const StoredWebhook = Schema.Struct({
  ...Webhook.fields,
  sealedSecret: Schema.String,
  /** It signs beside the other until then. */
  previousSealedSecret: Schema.NullOr(Schema.String),
  previousUntil: Schema.NullOr(Timestamp),
  /** When the first attempt failed behind which none succeeded. */
  failingSince: Schema.NullOr(Timestamp)
})
export type StoredWebhook = typeof StoredWebhook.Type
