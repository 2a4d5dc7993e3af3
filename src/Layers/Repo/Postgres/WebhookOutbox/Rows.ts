import * as Schema from "effect/Schema"
import { WorkspaceId } from "../../../../Schemas/Ids.ts"
import { WebhookDelivery } from "../../../../Schemas/WebhookDelivery.ts"
import { makeColumns } from "../Columns.ts"
import { rows } from "../Rows.ts"

const { lastAttempt: _, ...fields } = WebhookDelivery.fields
const Row = Schema.Struct({
  ...fields,
  workspaceId: WorkspaceId,
  lastAt: Schema.NullOr(Schema.Date),
  lastStatusCode: Schema.NullOr(Schema.Int),
  lastError: Schema.NullOr(Schema.String),
  lastMillis: Schema.NullOr(Schema.Int)
})

/** Of rows that the statement calls `d`, with their event `e`. */
export const deliveryColumns = makeColumns(Row, {
  type: { read: "e.type" },
  workspaceId: { read: "e.workspace_id" },
  nextAttemptAt: { read: "d.next_at" }
}).read("d")

export const deliveryRows = rows(Row)

export const toDelivery = ({
  lastAt,
  lastError,
  lastMillis,
  lastStatusCode,
  workspaceId: _,
  ...row
}: typeof Row.Type): WebhookDelivery => ({
  ...row,
  lastAttempt:
    lastAt === null
      ? null
      : { at: lastAt, statusCode: lastStatusCode, error: lastError, durationMs: lastMillis ?? 0 }
})
