import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { WebhookDeliveryStatus } from "../../../../Schemas/WebhookDelivery.ts"
import { mostBacklog, type WebhookOutbox } from "../../../../Services/WebhookOutbox.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { count, onlyRow } from "../Rows.ts"
import { deliveryColumns, deliveryRows, toDelivery } from "./Rows.ts"

const Backlog = Schema.Struct({ pending: Schema.Int, oldestSeconds: Schema.Finite })
const backlogColumns = makeColumns(Backlog, {
  pending: { read: "(select count(*) from waiting)::int" },
  oldestSeconds: {
    read: "greatest(0, coalesce(extract(epoch from clock_timestamp() - at), 0))::float8"
  }
}).read()
const backlogRow = onlyRow(Backlog)

/** What is read of deliveries, and what is forgotten. */
export const make = ({
  list,
  query,
  sql
}: Database["Service"]): Pick<WebhookOutbox["Service"], "backlog" | "find" | "list" | "prune"> => ({
  list: ({ after, limit, status, webhookId }) => {
    const before =
      after === null
        ? sql.literal("")
        : sql`and (created_at, id) < ((select created_at from webhook_deliveries where id = ${after}), ${after})`
    const each = (status === undefined ? WebhookDeliveryStatus.literals : [status]).map(
      (one) => sql`
        (select * from webhook_deliveries where webhook_id = ${webhookId} and status = ${sql.literal(`'${one}'`)} ${before}
        order by created_at desc, id desc limit ${limit})`
    )
    return list(
      deliveryRows(sql`
        select ${deliveryColumns}
        from (${sql.join(" union all ", false)(each)}) d join webhook_events e on e.id = d.event_id
        order by d.created_at desc, d.id desc limit ${limit}`)
    ).pipe(Effect.map((found) => found.map(toDelivery)))
  },
  find: (id) =>
    query(
      deliveryRows(sql`
        select ${deliveryColumns}
        from webhook_deliveries d join webhook_events e on e.id = d.event_id join webhooks w on w.id = d.webhook_id
        where d.id = ${id} and w.deleted_at is null`)
    ).pipe(
      Effect.map(([row]) =>
        row === undefined ? Option.none() : Option.some({ ...toDelivery(row), workspaceId: row.workspaceId })
      )
    ),
  backlog: query(
    backlogRow(sql`
      with queues as materialized (
        select webhook_id from webhook_queues where look_at is not null order by look_at limit 1000
      ), woken as materialized (
        select webhook_id from queues union select webhook_id from (select webhook_id from webhook_wakes limit 1000) w
      ), waiting as (
        select d.next_at from woken q cross join lateral (
          select next_at from webhook_deliveries
          where webhook_id = q.webhook_id and status = 'pending' order by next_at limit ${mostBacklog}
        ) d limit ${mostBacklog}
      ), oldest as (
        select min(d.next_at) as at from woken q cross join lateral (
          select next_at from webhook_deliveries
          where webhook_id = q.webhook_id and status = 'pending' order by next_at limit 1
        ) d
      )
      select ${backlogColumns}
      from oldest`)
  ),
  prune: (before, limit) =>
    query(
      count(sql`
        with old as (
          delete from webhook_events where ctid = any(array(
            select ctid from webhook_events where at < ${before} order by at limit ${limit} for update skip locked))
          returning 1)
        select count(*)::int as count from old`)
    )
})
