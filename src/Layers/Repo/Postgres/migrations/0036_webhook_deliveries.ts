import { vacuumedEarly } from "./0026_retention.ts"

/**
 * The outbox of webhooks: an event is written with what it tells of, and a delivery for each webhook that is to be told.
 * Who claims looks at `webhook_queues` alone, of which each webhook has a row (docs/adr/0030-webhook-outbox.md):
 *
 * - `look_at`: not before then is there anything to claim, that this row knows of. Null: there is nothing.
 * - `is_idle`: who makes a delivery has to say so. That is a row of `webhook_wakes`, which waits for nobody. Where it is
 *   not idle it is looked at in any case, and nobody says anything.
 *
 * It becomes idle under a lock of its webhook that the foreign key of each delivery that is being written holds up, and
 * by a look behind that lock: so no delivery is overlooked, and whoever writes one waits for no other.
 */

/** At most so many webhooks are looked at by a claim, and so much of `webhook_wakes` is cleared for each. */
const mostQueues = 1000
const mostWakes = 1000

/** For so long what is leased at once of a webhook that answers at once keeps others of it from being leased. */
const quickMillis = 1_000

/** In how many milliseconds to look again for what somebody else has locked. */
const againMillis = 50

/** By their indexes, row by row, whatever is known of the tables. */
const byIndexes =
  "set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off"

/** In turns: of each workspace that which waits longest first, and workspaces by when they were served last. */
const inTurns = `
  with recursive woken as (
    (select webhook_id from webhook_wakes order by webhook_id limit 1)
    union all
    select (
      select w.webhook_id from webhook_wakes w where w.webhook_id > woken.webhook_id order by w.webhook_id limit 1)
    from woken where woken.webhook_id is not null
  ), candidates as (
    (select webhook_id, workspace_id, look_at from webhook_queues
      where look_at <= moment and workspace_id <> all (except_workspaces) order by look_at limit ${mostQueues})
    union
    select q.webhook_id, q.workspace_id, q.look_at
    from (select webhook_id from woken where webhook_id is not null limit ${mostQueues}) w
      join webhook_queues q on q.webhook_id = w.webhook_id
    where q.workspace_id <> all (except_workspaces)
  ), ranked as (
    select webhook_id, look_at,
      row_number() over (partition by workspace_id order by look_at nulls last, webhook_id) as turn,
      (select max(q.served_at) from webhook_queues q where q.workspace_id = c.workspace_id) as served_at
    from candidates c
  )
  select webhook_id from ranked order by turn, served_at nulls first, look_at nulls last, webhook_id`

export const statements = [
  `create table if not exists webhook_events (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    type text not null,
    at timestamptz not null,
    facts jsonb not null,
    traceparent text
  )`,
  `create table if not exists webhook_deliveries (
    id text primary key,
    event_id text not null references webhook_events on delete cascade,
    webhook_id text not null references webhooks on delete cascade,
    status text not null default 'pending',
    attempts integer not null default 0,
    next_at timestamptz,
    leased_until timestamptz,
    last_at timestamptz,
    last_status_code integer,
    last_error text,
    last_millis integer,
    created_at timestamptz not null
  )`,
  // Claims read past what is dead in the index of what is due.
  vacuumedEarly("webhook_events"),
  vacuumedEarly("webhook_deliveries"),
  `create index if not exists webhook_events_by_age on webhook_events (at)`,
  `create index if not exists webhook_events_of_workspace on webhook_events (workspace_id)`,
  `create index if not exists webhook_deliveries_of_event on webhook_deliveries (event_id)`,
  `create index if not exists webhook_deliveries_of_webhook
    on webhook_deliveries (webhook_id, status, created_at, id)`,
  `create index if not exists webhook_deliveries_due on webhook_deliveries (webhook_id, next_at, id)
    where status = 'pending'`,
  `create index if not exists webhook_deliveries_leased on webhook_deliveries (webhook_id, leased_until)
    where leased_until is not null`,
  `create index if not exists webhooks_active on webhooks (id) where is_active and deleted_at is null`,
  `create table if not exists webhook_queues (
    webhook_id text primary key references webhooks on delete cascade,
    workspace_id text not null,
    look_at timestamptz,
    is_idle boolean not null default true,
    served_at timestamptz
  )`,
  `create index if not exists webhook_queues_due on webhook_queues (look_at) where look_at is not null`,
  `create index if not exists webhook_queues_served on webhook_queues (workspace_id, served_at)`,
  `create table if not exists webhook_wakes (
    webhook_id text not null references webhooks on delete cascade
  )`,
  `create index if not exists webhook_wakes_of_webhook on webhook_wakes (webhook_id)`,
  `insert into webhook_queues (webhook_id, workspace_id) select id, workspace_id from webhooks on conflict do nothing`,
  `create or replace function make_webhook_queue() returns trigger language plpgsql as $$
    begin
      insert into webhook_queues (webhook_id, workspace_id) values (new.id, new.workspace_id) on conflict do nothing;
      return null;
    end $$`,
  `create or replace trigger make_webhook_queue after insert on webhooks for each row
    execute function make_webhook_queue()`,
  // It waited while it was off; nobody has said so since.
  `create or replace function wake_webhook() returns trigger language plpgsql as $$
    begin
      insert into webhook_wakes values (new.id);
      return null;
    end $$`,
  `create or replace trigger wake_webhook after update of is_active on webhooks for each row
    when (new.is_active and not old.is_active) execute function wake_webhook()`,
  // After the foreign key of each row: what it sees stays so until the transaction is over.
  `create or replace function wake_webhooks() returns trigger language plpgsql ${byIndexes} as $$
    begin
      insert into webhook_wakes
        select q.webhook_id from (select distinct webhook_id from made where status = 'pending') m
          join webhook_queues q on q.webhook_id = m.webhook_id
        where q.is_idle;
      return null;
    end $$`,
  `create or replace trigger wake_webhooks after insert on webhook_deliveries referencing new table as made
    for each statement execute function wake_webhooks()`,
  /**
   * Leases what is due, up to `most`. One row for each delivery, and a last one without that says when to look again and
   * whether any webhook is active. A statement in a function sees what was committed before it: so the row of a webhook
   * is locked by one, what is leased of it is counted by the next, and no two claims count at the same time.
   */
  `create or replace function claim_webhook_deliveries(
      most integer, per_webhook integer, lease_millis integer, except_workspaces text[],
      quick text[], per_quick integer)
    returns table (id text, attempt integer, webhook webhooks, event webhook_events, until_millis float8, is_used boolean)
    language plpgsql ${byIndexes} as $$
    #variable_conflict use_column
    declare
      moment timestamptz := clock_timestamp();
      lease_end constant timestamptz := moment + lease_millis * interval '1 millisecond';
      queue record;
      hook record;
      room integer;
      leased integer;
      newest timestamptz;
      places integer := most;
      picked text[];
      taken text[] := '{}';
      next_look timestamptz;
      becomes_idle boolean;
    begin
      for queue in ${inTurns} loop
        exit when places <= 0;
        perform from webhook_queues q where q.webhook_id = queue.webhook_id for no key update skip locked;
        continue when not found;
        moment := clock_timestamp();
        delete from webhook_wakes w where w.ctid = any(array(
          select k.ctid from webhook_wakes k where k.webhook_id = queue.webhook_id limit ${mostWakes}));
        select w.is_active and w.deleted_at is null as is_on, w.failing_since is not null as is_failing into hook
          from webhooks w where w.id = queue.webhook_id;
        picked := '{}';
        room := 0;
        if hook.is_on then
          select count(*), max(d.leased_until) into leased, newest
            from webhook_deliveries d where d.webhook_id = queue.webhook_id and d.leased_until > clock_timestamp();
          room := case
            when hook.is_failing then least(1, per_webhook) - leased
            when queue.webhook_id <> all (quick) then per_webhook - leased
            when leased = 0 then per_quick
            when newest < lease_end - interval '${quickMillis} milliseconds' then per_webhook - leased
            else 0 end;
          with due as (
            select d.id, d.next_at from webhook_deliveries d
            where d.webhook_id = queue.webhook_id and d.status = 'pending' and d.next_at <= moment
            order by d.next_at, d.id limit greatest(least(room, places), 0) for no key update skip locked
          ), begun as (
            update webhook_deliveries d set attempts = d.attempts + 1, leased_until = lease_end, next_at = lease_end
            from due where d.id = due.id returning d.id, due.next_at
          )
          select coalesce(array_agg(b.id order by b.next_at, b.id), '{}') into picked from begun b;
        end if;
        taken := taken || picked;
        places := places - cardinality(picked);
        room := room - cardinality(picked);
        becomes_idle := false;
        next_look := clock_timestamp();
        if hook.is_on and room <= 0 then
          select case when queue.webhook_id = any (quick)
              then least(min(d.leased_until), clock_timestamp() + interval '${quickMillis} milliseconds')
              else min(d.leased_until) end into next_look
            from webhook_deliveries d where d.webhook_id = queue.webhook_id and d.leased_until > clock_timestamp();
        elsif places > 0 then
          perform from webhooks w where w.id = queue.webhook_id for update skip locked;
          if found then
            becomes_idle := true;
            select case when w.is_active and w.deleted_at is null then (
                select d.next_at from webhook_deliveries d where d.webhook_id = w.id and d.status = 'pending'
                order by d.next_at limit 1) end
              into next_look from webhooks w where w.id = queue.webhook_id;
          end if;
        end if;
        update webhook_queues q set look_at = coalesce(next_look, case when not becomes_idle then clock_timestamp() end),
          is_idle = becomes_idle,
          served_at = case when picked = '{}' then q.served_at else clock_timestamp() end
          where q.webhook_id = queue.webhook_id;
      end loop;
      return query
        select d.id, d.attempts, w, e, null::float8, null::boolean
        from unnest(taken) with ordinality t (id, place)
          join webhook_deliveries d on d.id = t.id
          join webhooks w on w.id = d.webhook_id
          join webhook_events e on e.id = d.event_id
        order by t.place;
      return query
        select null::text, null::integer, null::webhooks, null::webhook_events,
          case when is_woken or look_at <= clock_timestamp() then case when places > 0 then ${againMillis} else 0 end
            else extract(epoch from look_at - clock_timestamp()) * 1000 end::float8,
          exists (select from webhooks w where w.is_active and w.deleted_at is null)
        from (
          select exists (
              select from webhook_wakes k join webhook_queues q on q.webhook_id = k.webhook_id
              where q.workspace_id <> all (except_workspaces)) as is_woken,
            (select q.look_at from webhook_queues q
              where q.look_at is not null and q.workspace_id <> all (except_workspaces)
              order by q.look_at limit 1) as look_at
        ) left_over;
    end $$`
]
