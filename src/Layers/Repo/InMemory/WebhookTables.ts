import type { StoredWebhook } from "../../../Schemas/Webhook.ts"
import type { WebhookDelivery } from "../../../Schemas/WebhookDelivery.ts"
import type { StoredWebhookEvent } from "../../../Schemas/WebhookEvent.ts"

/** What is kept of webhooks, each by its id. */
export const emptyWebhookTables = () => ({
  webhooks: new Map<string, StoredWebhook>(),
  webhookEvents: new Map<string, StoredWebhookEvent>(),
  webhookDeliveries: new Map<string, WebhookDelivery>(),
  /** By delivery: until when it is being attempted, in milliseconds of the monotonic clock. */
  webhookLeases: new Map<string, number>(),
  /** By webhook and by workspace: the place of its last claim among all. */
  webhooksServed: new Map<string, number>()
})
