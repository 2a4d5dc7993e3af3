import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredWebhook } from "../../../Schemas/Webhook.ts"
import { WebhookRepo } from "../../../Services/WebhookRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { insertUnlessFull } from "./Quotas.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const webhook = firstRow(StoredWebhook)
const webhooks = rows(StoredWebhook)
const columns = makeColumns(StoredWebhook, { events: "json" })

/** An owner has said so: what it was switched off for is past. */
const switchedOn = { disabled_at: null, disabled_reason: null, failing_since: null }

export const layer = Layer.effect(
  WebhookRepo,
  Effect.gen(function* () {
    const { change, lookUp, read, sql } = yield* Database
    const selected = columns.read()
    return WebhookRepo.of({
      insert: (given, most) =>
        change((audit) =>
          insertUnlessFull(sql, {
            table: "webhooks",
            quota: "webhooks",
            row: columns.row(given),
            workspaceId: given.workspaceId,
            most,
            audit
          })
        ),
      find: (id) =>
        lookUp(webhook(sql`select ${selected} from webhooks where id = ${id} and deleted_at is null`)),
      list: (workspaceId) =>
        read(
          workspaceId,
          webhooks(sql`
            select ${selected} from webhooks
            where workspace_id = ${workspaceId} and deleted_at is null order by created_at, id`)
        ),
      update: (id, given, at) =>
        change((audit) =>
          webhook(sql`
            with changed as (
              update webhooks set ${sql.update({
                ...columns.changes({ ...given, updatedAt: at }),
                ...(given.isActive === true && switchedOn)
              })}
              where id = ${id} and deleted_at is null returning *
            )${audit.of("changed")}
            select ${selected} from changed`)
        ),
      rotate: (id, { previousUntil, sealedSecret }, at) =>
        change((audit) =>
          webhook(sql`
            with changed as (
              update webhooks set sealed_secret = ${sealedSecret}, previous_sealed_secret = sealed_secret,
                previous_until = ${previousUntil}, updated_at = ${at}
              where id = ${id} and deleted_at is null returning *
            )${audit.of("changed")}
            select ${selected} from changed`)
        ),
      remove: (id) =>
        change((audit) =>
          returnedRow(sql`
            with marked as (
              update webhooks set deleted_at = clock_timestamp(), sealed_secret = '', previous_sealed_secret = null
              where id = ${id} and deleted_at is null returning id, workspace_id
            )${audit.of("marked")}
            select id from marked`)
        )
    })
  })
)
