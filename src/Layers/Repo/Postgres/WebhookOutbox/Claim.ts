import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WebhookDeliveryId } from "../../../../Schemas/Ids.ts"
import { StoredWebhook } from "../../../../Schemas/Webhook.ts"
import { StoredWebhookEvent } from "../../../../Schemas/WebhookEvent.ts"
import type { WebhookOutbox } from "../../../../Services/WebhookOutbox.ts"
import { objectOf } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"

const Claimed = Schema.Struct({
  id: WebhookDeliveryId,
  attempt: Schema.Int,
  webhook: Schema.toCodecJson(StoredWebhook),
  event: Schema.toCodecJson(StoredWebhookEvent)
})
const Ahead = Schema.Struct({
  id: Schema.Null,
  untilMillis: Schema.NullOr(Schema.Finite),
  isUsed: Schema.Boolean
})
const claimedRows = rows(Schema.Union([Claimed, Ahead]))

const isClaimed = (row: typeof Claimed.Type | typeof Ahead.Type): row is typeof Claimed.Type =>
  row.id !== null

/** By a function of the database (migration 36): what it decides it sees behind its locks. */
export const make = ({ query, sql }: Database["Service"]): Pick<WebhookOutbox["Service"], "claim"> => {
  const webhook = sql.literal(objectOf(StoredWebhook, "(c.webhook)"))
  const event = sql.literal(objectOf(StoredWebhookEvent, "(c.event)"))
  return {
    claim: ({ exceptWorkspaces = [], leaseMillis, limit, perWebhook }) =>
      query(
        claimedRows(sql`
          select c.id, c.attempt, ${webhook} as webhook, ${event} as event, c.until_millis as "untilMillis",
            c.is_used as "isUsed"
          from claim_webhook_deliveries(${limit}::int, ${perWebhook}::int, ${leaseMillis}::int,
            array(select jsonb_array_elements_text(${sql.json(exceptWorkspaces)}))) c`)
      ).pipe(
        Effect.map((found) => {
          const ahead = found.find((row) => !isClaimed(row))
          return {
            deliveries: found.filter(isClaimed),
            untilNextMillis: ahead !== undefined && "untilMillis" in ahead ? ahead.untilMillis : null,
            isUsed: ahead !== undefined && "isUsed" in ahead && ahead.isUsed
          }
        })
      )
  }
}
