import { WebhookMessage } from "../Schemas/WebhookMessage.ts"

/** What the OpenAPI document has of the messages that webhooks are sent. */
export const messageComponents = [WebhookMessage]

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" }
})

/** What receivers answer to, of an OpenAPI document (CONTRACT.md section 12; Standard Webhooks). */
export const webhookMessages = {
  message: {
    post: {
      operationId: "webhooks.message",
      summary: "What is sent to a webhook",
      description:
        "Signed by Standard Webhooks. At least once, the same at each attempt, in no order. Redirects are not followed.",
      "x-agentd-extension": true,
      parameters: [
        header("webhook-id", "Of what happened: the same at each attempt, and to each webhook."),
        header("webhook-timestamp", "Of the attempt, in seconds since 1970."),
        header(
          "webhook-signature",
          "`v1,` and the HMAC-SHA256 of id, time stamp and body, joined by dots, in base64; two, with a blank between " +
            "them, for 24 hours after the secret was rotated."
        )
      ],
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: "#/components/schemas/WebhookMessage" } } }
      },
      responses: {
        200: { description: "Taken, as any 2xx within 15 seconds is." },
        410: { description: "Nobody is here any more: the webhook is switched off." },
        default: { description: "Not taken: it is sent again." }
      }
    }
  }
}
