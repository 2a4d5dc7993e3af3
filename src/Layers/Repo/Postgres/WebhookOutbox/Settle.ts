import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WebhookId, WorkspaceId } from "../../../../Schemas/Ids.ts"
import { WebhookDisabledReason } from "../../../../Schemas/Webhook.ts"
import { actingAs, auditedAll } from "../../../../Services/Audited.ts"
import type { Attempted, WebhookOutbox } from "../../../../Services/WebhookOutbox.ts"
import type { Auditing } from "../AuditEntries.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"

const Disabled = Schema.Struct({ id: WebhookId, workspaceId: WorkspaceId, reason: WebhookDisabledReason })
const disabledColumns = makeColumns(Disabled, {}).read()
const disabledRows = rows(Disabled)

const given = ({ attempt, id, outcome, result }: Attempted, place: number) => ({
  id,
  attempt,
  place,
  outcome: outcome.type,
  after_millis: outcome.type === "retry" ? outcome.afterMillis : null,
  at: result.at,
  status_code: result.statusCode,
  error: result.error,
  millis: result.durationMs
})

/**
 * Locks in this order: deliveries, webhooks, each by their ids, so that no two wait for each other. Who claims holds the
 * rows of queues, and is passed by: it is told to look again. What is written is compared with rows as they are
 * behind the lock: whoever has claimed since the statement began may have put the look off to the end of a lease.
 */
const settling = (
  sql: PgClient,
  audit: Auditing,
  attempted: ReadonlyArray<Attempted>,
  failingMillis: number
) => sql`
  with now as materialized (select clock_timestamp() as at), given as materialized (
    select * from jsonb_to_recordset(${sql.json(attempted.map(given))}) as g (
      id text, attempt integer, place integer, outcome text, after_millis float8, at timestamptz,
      status_code integer, error text, millis integer)
  ), settled as materialized (
    select d.id, d.webhook_id, g.place, g.outcome, g.at, g.status_code, g.error, g.millis,
      d.attempts = 0 as is_anew,
      case
        when d.attempts = 0 then now.at
        when g.outcome = 'retry' then now.at + g.after_millis * interval '1 millisecond'
      end as next_at
    from given g join webhook_deliveries d on d.id = g.id, now
    where d.status = 'pending' and d.leased_until is not null and d.attempts in (g.attempt, 0)
    order by d.id for no key update of d
  ), queues as materialized (
    select webhook_id, is_idle, look_at from webhook_queues where webhook_id in (select webhook_id from settled)
    order by webhook_id for no key update skip locked
  ), written as (
    update webhook_deliveries d
    set leased_until = null, next_at = s.next_at,
      status = case when s.next_at is not null then 'pending' when s.outcome = 'delivered' then 'delivered' else 'failed' end,
      last_at = case when s.is_anew then d.last_at else s.at end,
      last_status_code = case when s.is_anew then d.last_status_code else s.status_code end,
      last_error = case when s.is_anew then d.last_error else s.error end,
      last_millis = case when s.is_anew then d.last_millis else s.millis end
    from settled s where d.id = s.id
  ), totals as materialized (
    select webhook_id, coalesce(max(place) filter (where outcome = 'delivered'), -1) as succeeded,
      coalesce(max(place) filter (where outcome <> 'delivered'), -1) as failed, bool_or(outcome = 'gone') as is_gone
    from settled where not is_anew group by webhook_id
  ), hooks as materialized (
    select w.id, now.at, t.is_gone, t.succeeded, w.failing_since as was,
      case when t.succeeded < 0 then coalesce(w.failing_since, now.at) when t.failed > t.succeeded then now.at end as failing_since,
      case
        when not w.is_active then null
        when t.is_gone then 'gone'
        when t.succeeded < 0 and w.failing_since <= now.at - ${failingMillis}::float8 * interval '1 millisecond' then 'failing'
      end as reason
    from totals t join webhooks w on w.id = t.webhook_id, now
    where w.deleted_at is null and (w.failing_since is not null or t.failed >= 0)
    order by w.id for no key update of w
  ), changed as (
    update webhooks w
    set failing_since = h.failing_since, is_active = w.is_active and h.reason is null,
      disabled_at = case when h.reason is null then w.disabled_at else h.at end,
      disabled_reason = coalesce(h.reason, w.disabled_reason),
      updated_at = case when h.reason is null then w.updated_at else h.at end
    from hooks h
    where w.id = h.id and (h.reason is not null or h.was is distinct from h.failing_since)
    returning w.id, w.workspace_id, h.reason
  ), looked as (
    update webhook_queues q set look_at = s.look_at
    from (
      select q.webhook_id, q.look_at as was,
        least(q.look_at, case when q.is_idle then min(s.next_at) else min(now.at) end) as look_at
      from queues q join settled s on s.webhook_id = q.webhook_id, now group by q.webhook_id, q.is_idle, q.look_at
    ) s
    where q.webhook_id = s.webhook_id and s.look_at is distinct from s.was
  ), woken as (
    insert into webhook_wakes
    select distinct s.webhook_id from settled s join webhook_queues q on q.webhook_id = s.webhook_id
    where s.webhook_id not in (select webhook_id from queues)
  ), disabled as (
    select id, workspace_id, reason from changed where reason is not null
  )${audit.of("disabled")}
  select ${disabledColumns} from disabled order by id`

/** One that was sent anew meanwhile has no attempt to be taken back. */
const givingBack = (sql: PgClient, claimed: Parameters<WebhookOutbox["Service"]["giveBack"]>[0]) => sql`
  with back as materialized (
    select d.id, d.webhook_id from jsonb_to_recordset(${sql.json(claimed)}) as g (id text, attempt integer)
      join webhook_deliveries d on d.id = g.id
    where d.status = 'pending' and d.leased_until is not null and d.attempts in (g.attempt, 0)
    order by d.id for no key update of d
  ), written as (
    update webhook_deliveries d
    set leased_until = null, next_at = clock_timestamp(), attempts = greatest(d.attempts - 1, 0)
    from back where d.id = back.id
  )
  insert into webhook_wakes select distinct webhook_id from back`

export const make = ({
  change,
  query,
  sql
}: Database["Service"]): Pick<WebhookOutbox["Service"], "settle" | "giveBack"> => ({
  giveBack: (claimed) =>
    claimed.length === 0 ? Effect.void : Effect.asVoid(query(givingBack(sql, claimed))),
  settle: (attempted, failingMillis) =>
    attempted.length === 0
      ? Effect.succeed([])
      : change((audit) => disabledRows(settling(sql, audit, attempted, failingMillis))).pipe(
          auditedAll("webhook.disabled"),
          actingAs({ system: "webhooks" })
        )
})
