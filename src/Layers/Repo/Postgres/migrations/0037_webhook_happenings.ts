/**
 * Who writes what webhooks are told of (docs/adr/0032-webhook-events.md): triggers, so that it is in the transaction of what
 * happened, whoever made it happen, and whichever version of the service. `webhooks_wanting` is asked first, so that
 * facts are put together only where somebody wants them. Its lock keeps a webhook that is told in place until then.
 *
 * Facts have the names of the API. Texts are cut to what `Schemas/WebhookPayload.ts` needs to see that they were longer,
 * and nothing that is sealed or of the engine alone is in them.
 */

/** By which a reader of facts sees that a text was longer than 16 KiB, whatever its characters are. */
const mostCharacters = 16 * 1024 + 1
/** As JSON, with the blanks of PostgreSQL: what is longer is longer than 16 KiB without them, and a text here. */
const mostJsonBytes = 32 * 1024
/** Of those that one run waits for. */
const mostApprovals = 20
const mostTokens = 2_147_483_647

const columnOf = (field: string) => field.replace(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)
const column = (row: string) => (field: string) => `'${field}', ${row}.${columnOf(field)}`
const long = (row: string) => (field: string) =>
  `'${field}', left(${row}.${columnOf(field)}, ${mostCharacters})`
const object = (...pairs: ReadonlyArray<string>) => `jsonb_build_object(${pairs.join(", ")})`
const objectOf = (row: string, fields: ReadonlyArray<string>, texts: ReadonlyArray<string>) =>
  object(...fields.map(column(row)), ...texts.map(long(row)))

/** What is marked is gone for every reader. */
const unlessMarked = (name: string, table: string) =>
  `(select id from ${table} where id = r.${name} and deleted_at is null)`

const run = object(
  ...["id", "workspaceId", "projectId", "status", "createdAt", "updatedAt"].map(column("r")),
  ...["prompt", "output", "error"].map(long("r")),
  `'agentId', ${unlessMarked("agent_id", "agents")}`,
  `'cronJobId', ${unlessMarked("cron_job_id", "cron_jobs")}`,
  "'runAt', r.not_before",
  ...["provider", "model", "providerKeyId"].map((field) => `'${field}', r.answered_by ->> '${field}'`),
  `'usage', ${object(column("used")("inputTokens"), column("used")("outputTokens"))}`,
  ...["autonomyLevel", "attempts", "startedAt", "firstTokenAt", "finishedAt"].map(column("r"))
)
const turn = object(column("r")("conversationId"), "'messageId', r.reply_id")

const argumentsOf = (row: string) =>
  `case when octet_length(${row}.arguments::text) > ${mostJsonBytes}
    then to_jsonb(left(${row}.arguments::text, ${mostCharacters})) else ${row}.arguments end`
const approval = (row: string) =>
  `(${objectOf(
    row,
    ["id", "workspaceId", "runId", "connector", "status", "decidedBy", "decidedAt", "createdAt", "expiresAt"],
    ["toolCallId", "tool", "address", "description", "reason"]
  )} || ${object(
    `'arguments', ${argumentsOf(row)}`,
    `'areArgumentsCut', octet_length(${row}.arguments::text) > ${mostJsonBytes}`
  )})`

const cronJob = `(${objectOf(
  "c",
  ["id", "workspaceId", "projectId", "isActive", "createdAt", "updatedAt"],
  ["name", "description", "schedule", "prompt", "timezone"]
)} || ${object(
  "'agentId', a.id",
  `'agent', case when a.id is not null then ${object("'id', a.id", "'name', a.name")} end`
)})`

const connector = `(${objectOf(
  "c",
  ["id", "workspaceId", "projectId", "status", "grantedScopes", "createdAt", "updatedAt"],
  ["type", "providerId", "providerName"]
)} || ${object(
  `'hasCredential', c.sealed_credential is not null
    or coalesce(c.metadata -> 'headers', c.metadata -> 'agentd:sealed') is not null`,
  `'health', ${objectOf("new", ["checkedAt", "error"], ["serverName", "serverVersion", "protocolVersion"])}`
)})`

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const range = (length: number) => Array.from({ length }, (_, index) => index)
const digit = (value: string) => `substr('${alphabet}', ${value} + 1, 1)`

export const statements = [
  `create or replace function ulid_of(at timestamptz) returns text language plpgsql as $$
    declare
      millis constant bigint := floor(extract(epoch from at) * 1000);
      bytes constant bytea := uuid_send(gen_random_uuid());
    begin
      return ${range(10)
        .map((index) => digit(`((millis >> ${45 - 5 * index}) & 31)::int`))
        .join(" || ")}
        || ${range(16)
          .map((index) => digit(`(get_byte(bytes, ${index}) & 31)`))
          .join(" || ")};
    end $$`,
  `create or replace function webhooks_wanting(given text, what text) returns text[] language plpgsql as $$
    begin
      return array(
        select id from webhooks where workspace_id = given and deleted_at is null and is_active
          and (events @> to_jsonb(what) or events @> '"*"')
        order by id for key share);
    end $$`,
  // Nodes that run together are told once by each transaction, however much it tells.
  `create or replace function tell_webhooks(wanting text[], given text, what text, facts jsonb, traced text)
    returns void language plpgsql as $$
    declare
      at constant timestamptz := clock_timestamp();
      event constant text := 'evt_' || ulid_of(at);
    begin
      insert into webhook_events (id, workspace_id, type, at, facts, traceparent)
        values (event, given, what, at, facts, traced);
      insert into webhook_deliveries (id, event_id, webhook_id, next_at, created_at)
        select 'dlv_' || ulid_of(at), event, webhook, at, at from unnest(wanting) webhook;
      perform pg_notify('agentd', '{"type":"webhooks"}');
    end $$`,
  // Of all that a statement ends, at once: it may be many. The column `traceparent` is that of `nothing` where runs have none.
  `create or replace function tell_runs() returns trigger language plpgsql as $$
    declare
      at constant timestamptz := clock_timestamp();
      ended record;
      wanting text[];
      has_told boolean := false;
    begin
      if not exists (select from webhooks where is_active and deleted_at is null) then return null; end if;
      for ended in
        select r.workspace_id, array_agg(r.id) as ids, case when r.status = 'WAITING_APPROVAL' then 'run.waiting_approval'
          when r.kind = 'turn' then 'turn.' || lower(r.status) else 'run.' || lower(r.status) end as what
        from made r join gone o on o.id = r.id
        where o.status <> r.status and r.status in ('COMPLETED', 'FAILED', 'CANCELLED', 'WAITING_APPROVAL')
          and (r.kind = 'task' or r.status <> 'CANCELLED')
        group by 1, 3 order by 1, 3
      loop
        wanting := webhooks_wanting(ended.workspace_id, ended.what);
        continue when wanting = '{}';
        with happened as materialized (
          select 'evt_' || ulid_of(at) as id, (select traceparent from runs t where t.id = r.id) as traced,
            ${run}
              || case when r.kind = 'turn' then ${turn} else '{}' end
              || case when r.status = 'WAITING_APPROVAL' then jsonb_build_object('approvals', (
                select coalesce(jsonb_agg(${approval("a")} order by a.created_at, a.id), '[]') from (
                  select * from approvals where run_id = r.id and status = 'PENDING'
                  order by created_at, id limit ${mostApprovals + 1}) a)) else '{}' end as facts
          from (select null::text as traceparent) nothing, made r, lateral (
            -- Of one that nobody ended who knew: what its steps used.
            select s.input_tokens, s.output_tokens from (
              select r.input_tokens, r.output_tokens
              union all
              select least(coalesce(sum((step #>> '{usage,inputTokens}')::bigint), 0), ${mostTokens}),
                least(coalesce(sum((step #>> '{usage,outputTokens}')::bigint), 0), ${mostTokens})
              from run_steps where run_id = r.id and r.status <> 'COMPLETED' and step ->> 'type' = 'model'
            ) s (input_tokens, output_tokens) order by s.input_tokens::bigint + s.output_tokens desc limit 1
          ) used
          where r.id = any(ended.ids)
        ), told as (
          insert into webhook_events (id, workspace_id, type, at, facts, traceparent)
          select id, ended.workspace_id, ended.what, at, facts, traced from happened
        )
        insert into webhook_deliveries (id, event_id, webhook_id, next_at, created_at)
        select 'dlv_' || ulid_of(at), happened.id, webhook, at, at from happened, unnest(wanting) webhook;
        has_told := true;
      end loop;
      if has_told then perform pg_notify('agentd', '{"type":"webhooks"}'); end if;
      return null;
    end $$`,
  `create or replace trigger tell_runs after update on runs referencing old table as gone new table as made
    for each statement execute function tell_runs()`,
  `create or replace function tell_decided() returns trigger language plpgsql as $$
    declare
      wanting constant text[] := webhooks_wanting(new.workspace_id, 'approval.decided');
    begin
      if wanting = '{}' then return null; end if;
      perform tell_webhooks(wanting, new.workspace_id, 'approval.decided', ${approval("new")},
        (select to_jsonb(r) ->> 'traceparent' from runs r where r.id = new.run_id));
      return null;
    end $$`,
  `create or replace trigger tell_decided after update of status on approvals for each row
    when (old.status = 'PENDING' and new.status in ('APPROVED', 'REJECTED'))
    execute function tell_decided()`,
  `create or replace function tell_missed() returns trigger language plpgsql as $$
    declare
      missed record;
      wanting text[];
    begin
      for missed in
        select cron_job_id, count(*) as count, min(scheduled_at) as first, max(scheduled_at) as last
        from made where outcome = 'missed' group by cron_job_id order by cron_job_id
      loop
        wanting := webhooks_wanting((select workspace_id from cron_jobs where id = missed.cron_job_id), 'cron.missed');
        if wanting <> '{}' then
          perform tell_webhooks(wanting, c.workspace_id, 'cron.missed', ${cronJob} || jsonb_build_object('missed',
            jsonb_build_object('count', missed.count, 'first', missed.first, 'last', missed.last)), null)
          from cron_jobs c left join agents a on a.id = c.agent_id and a.deleted_at is null
          where c.id = missed.cron_job_id;
        end if;
      end loop;
      return null;
    end $$`,
  `create or replace trigger tell_missed after insert on cron_fires referencing new table as made
    for each statement execute function tell_missed()`,
  // Those of which it was told that they fail, and not yet that they work again.
  `create table if not exists failing_connectors (
    connector_id text primary key references connectors on delete cascade
  )`,
  `insert into failing_connectors select id from connectors where status = 'ERROR' on conflict do nothing`,
  `create or replace function tell_health() returns trigger language plpgsql as $$
    declare
      what constant text := case when new.error is null then 'connector.recovered' else 'connector.error' end;
      c connectors;
      wanting text[];
    begin
      select * into c from connectors where id = new.connector_id;
      if new.error is null then
        delete from failing_connectors where connector_id = new.connector_id;
      elsif c.status = 'ERROR' then
        insert into failing_connectors values (new.connector_id) on conflict do nothing;
      else
        return null;
      end if;
      if not found then return null; end if;
      wanting := webhooks_wanting(c.workspace_id, what);
      if wanting <> '{}' then
        perform tell_webhooks(wanting, c.workspace_id, what, ${connector}, null);
      end if;
      return null;
    end $$`,
  `create or replace trigger tell_health after insert on connector_health for each row
    execute function tell_health()`,
  `create or replace trigger tell_changed_health after update on connector_health for each row
    when (old.error is not null or new.error is not null) execute function tell_health()`
]
