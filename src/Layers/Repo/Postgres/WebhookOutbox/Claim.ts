import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WebhookDeliveryId } from "../../../../Schemas/Ids.ts"
import { StoredWebhook } from "../../../../Schemas/Webhook.ts"
import { StoredWebhookEvent } from "../../../../Schemas/WebhookEvent.ts"
import type { WebhookOutbox } from "../../../../Services/WebhookOutbox.ts"
import { makeColumns, objectOf } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"

const Row = Schema.Struct({
  id: Schema.NullOr(WebhookDeliveryId),
  attempt: Schema.NullOr(Schema.Int),
  webhook: Schema.NullOr(Schema.toCodecJson(StoredWebhook)),
  event: Schema.NullOr(Schema.toCodecJson(StoredWebhookEvent)),
  untilMillis: Schema.NullOr(Schema.Finite),
  isUsed: Schema.NullOr(Schema.Boolean)
})
const isThere = "c.id is not null"
const columns = makeColumns(Row, {
  webhook: { read: `case when ${isThere} then ${objectOf(StoredWebhook, "(c.webhook)")} end` },
  event: { read: `case when ${isThere} then ${objectOf(StoredWebhookEvent, "(c.event)")} end` }
}).read("c")
const claimedRows = rows(Row)

/** By a function of the database (migration 36): what it decides it sees behind its locks. */
export const make = ({ query, sql }: Database["Service"]): Pick<WebhookOutbox["Service"], "claim"> => ({
  claim: ({ exceptWorkspaces = [], leaseMillis, limit, perWebhook, quick }) =>
    query(
      claimedRows(sql`
        select ${columns}
        from claim_webhook_deliveries(${limit}::int, ${perWebhook}::int, ${leaseMillis}::int,
          array(select jsonb_array_elements_text(${sql.json(exceptWorkspaces)})),
          array(select jsonb_array_elements_text(${sql.json(quick?.ids ?? [])})),
          ${quick?.perWebhook ?? perWebhook}::int) c`)
    ).pipe(
      Effect.map((found) => {
        const ahead = found.at(-1)
        return {
          deliveries: found.flatMap(({ attempt, event, id, webhook }) =>
            id === null || attempt === null || webhook === null || event === null
              ? []
              : [{ id, attempt, webhook, event }]
          ),
          untilNextMillis: ahead?.untilMillis ?? null,
          isUsed: ahead?.isUsed ?? false
        }
      })
    )
})
