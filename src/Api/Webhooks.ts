import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { WebhookDeliveryId, type WebhookId } from "../Schemas/Ids.ts"
import { CreateWebhook, NewWebhook, UpdateWebhook, Webhook } from "../Schemas/Webhook.ts"
import { WebhookDelivery, WebhookDeliveryStatus } from "../Schemas/WebhookDelivery.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound, WebhookInactive } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, pathId, removed, workspaceQuery } from "./Fields.ts"
import { Idempotency, Keeping } from "./Idempotency.ts"
import { paging } from "./Paging.ts"

const pages = paging(50, 1000)
const params = { id: pathId<WebhookId>() }

export const Webhooks = HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/api/webhooks", {
      query: workspaceQuery,
      success: data(Schema.Array(Webhook))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the webhooks of a workspace, oldest first, by an owner",
        description: "Without their secrets, which are shown once."
      })
    ),
    HttpApiEndpoint.post("create", "/api/webhooks", { payload: CreateWebhook, success: created(NewWebhook) })
      .middleware(Idempotency)
      .annotate(Keeping, "sealed")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a webhook, whose secret is shown this once",
          description:
            "By an owner. `url` is told of `events` (`*`: of all) from then on, signed by Standard Webhooks with the secret. " +
            "Where a connector may not lead, it is not sent to either. The free plan allows 10 (`plan_limit_exceeded`)."
        })
      ),
    HttpApiEndpoint.get("get", "/api/webhooks/:id", {
      params,
      success: data(Webhook),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a webhook, by an owner",
        description:
          "`disabledReason` says why it was switched off by itself: `gone`, its receiver has answered 410; `failing`, it has taken nothing for five days."
      })
    ),
    HttpApiEndpoint.patch("update", "/api/webhooks/:id", {
      params,
      payload: UpdateWebhook,
      success: data(Webhook),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update a webhook, or switch it on or off, by an owner",
        description:
          "An absent field stays. Off it is told of nothing that happens then; what waited before is sent when it is on again."
      })
    ),
    HttpApiEndpoint.delete("remove", "/api/webhooks/:id", {
      params,
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a webhook, by an owner",
        description: "With its deliveries: what was still to be sent is not."
      })
    ),
    HttpApiEndpoint.post("rotateSecret", "/api/webhooks/:id/rotate-secret", {
      params,
      success: data(NewWebhook),
      error: NotFound
    })
      .middleware(Idempotency)
      .annotate(Keeping, "sealed")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Give a webhook a new secret, which is shown this once, by an owner",
          description: "The one before signs as well for 24 h, one before that no longer."
        })
      ),
    HttpApiEndpoint.post("test", "/api/webhooks/:id/test", {
      params,
      success: created(WebhookDelivery),
      error: [NotFound, WebhookInactive]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Have a webhook sent an event to try it, by an owner",
          description:
            "Of type `webhook.test`, whatever its `events` are. The deliveries of the webhook say what came of it."
        })
      ),
    HttpApiEndpoint.get("deliveries", "/api/webhooks/:id/deliveries", {
      params,
      query: {
        status: Schema.optionalKey(WebhookDeliveryStatus),
        limit: pages.query.limit,
        after: Schema.optionalKey(WebhookDeliveryId)
      },
      success: data(Schema.Array(WebhookDelivery)),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the deliveries of a webhook, newest first, by an owner",
        description:
          "Those of the last 30 days, or as the operator says. `after` is the id of the last one seen: what is older comes. " +
          "While there is more, the header `X-Next-After` says what the next `after` is.",
        transform: pages.transform
      })
    ),
    HttpApiEndpoint.post("redeliver", "/api/webhook-deliveries/:id/redeliver", {
      params: { id: pathId<WebhookDeliveryId>() },
      success: data(WebhookDelivery),
      error: NotFound
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send an event anew, by an owner",
          description:
            "Whatever became of it: at once, with the same `webhook-id` and body, and tried again as often as at first. Of a webhook that is off when it is on again."
        })
      )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhooks",
      description: "Where a workspace is told of what happens, by Standard Webhooks."
    })
  )
