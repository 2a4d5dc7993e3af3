import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ApprovalRepo } from "../../../src/Services/ApprovalRepo.ts"
import { AuditRepo } from "../../../src/Services/AuditRepo.ts"
import { BudgetRepo } from "../../../src/Services/BudgetRepo.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { CronBackfillRepo } from "../../../src/Services/CronBackfillRepo.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { IdempotencyRepo } from "../../../src/Services/IdempotencyRepo.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Snapshots } from "../../../src/Services/Snapshots.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { WebhookOutbox } from "../../../src/Services/WebhookOutbox.ts"
import { type Backend, layerNode } from "../../support/Backends.ts"
import * as Postgres from "../../support/Postgres.ts"
import { blocksRead } from "./IndexUse.ts"

/** What a look may read that finds nothing to do, however much there is: an index has three or four levels. */
const mostBlocks = 100

/** Much of everything that is looked through now and then, and nothing of it is due. */
const seed = Effect.gen(function* () {
  const sql = yield* PgClient
  const each = sql.literal("generate_series(1, 20000) n")
  yield* sql`insert into users values ('u', 'u@example.org', now())`
  yield* sql`insert into workspaces (id, name, plan, created_at, updated_at) values ('w', 'w', 'free', now(), now())`
  yield* sql`
    insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, worker, lease_until, created_at,
      updated_at, finished_at)
    select 'run_' || n, 'w', (array['RUNNING', 'WAITING_APPROVAL', 'COMPLETED'])[n % 3 + 1], 'p', 'supervised', 1,
      case when n % 3 = 0 then 'other' end, case when n % 3 = 0 then now() + interval '1 hour' end, now(), now(),
      case when n % 3 = 2 then now() end
    from ${each}`
  yield* sql`
    insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, created_at, updated_at, not_before)
    select 'run_later_' || n, 'w', 'PENDING', 'p', 'supervised', 0, now(), now(), now() + interval '1 day' from ${each}`
  yield* sql`
    insert into approvals (id, workspace_id, run_id, tool_call_id, tool, arguments, fingerprint, status, created_at,
      expires_at)
    select 'appr_' || n, 'w', 'run_' || n, 'call', 'tool', '{}', 'f', 'PENDING', now(), now() + interval '1 hour'
    from ${each} where n % 3 = 1`
  yield* sql`
    insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, next_fire_at, created_at,
      updated_at)
    select 'cron_' || n, 'w', 'j', '@yearly', 'UTC', 'p', true, now() + interval '1 day', now(), now() from ${each}`
  yield* sql`
    insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome)
    select 'cron_' || n, now(), now(), 'missed' from ${each}`
  yield* sql`
    insert into cron_backfills (cron_job_id, scheduled_at)
    select 'cron_' || n % 1000 + 1, now() - n * interval '1 hour' from ${each}`
  yield* sql`
    update cron_jobs set backfill_at = now() + interval '1 hour'
    where id in (select cron_job_id from cron_backfills)`
  yield* sql`
    insert into tokens (id, user_id, name, hash, created_at, expires_at)
    select 'token_' || n, 'u', 't', 'h' || n, now(), now() + interval '1 day' from ${each}`
  yield* sql`
    insert into idempotency_keys (id, user_id, request, created_at, expires_at)
    select 'k' || n, 'u', 'r', now(), now() + interval '1 day' from ${each}`
  yield* sql`
    insert into conversations (id, workspace_id, title, owner_id, created_at, updated_at, is_hidden)
    select 'conv_' || n, 'w', 't', 'u', now(), now(), n % 2 = 0 from ${each}`
  yield* sql`
    insert into budget_reservations (run_id, epoch, workspace_id, tokens, cost_nanos, made_at)
    select 'run_' || n, 1, 'w', 1, 1, now() + interval '1 hour' from ${each}`
  // Webhooks of which nothing waits, that are not active, that try again later, and one that is told much and is slow.
  yield* sql`
    insert into webhooks (id, workspace_id, url, events, is_active, sealed_secret, created_at, updated_at)
    select 'wh_' || n, 'w', 'https://example.org', '["*"]', n % 4 > 0, 's', now(), now() from ${each}`
  yield* sql`
    insert into webhook_events (id, workspace_id, type, at, facts)
    select 'evt_' || n, 'w', 'run.completed', now(), '{}' from ${each}`
  yield* sql`
    insert into webhook_deliveries (id, event_id, webhook_id, status, next_at, leased_until, created_at)
    select 'dlv_' || n, 'evt_' || n, 'wh_' || n, case when n % 4 = 1 then 'delivered' else 'pending' end,
      case n % 4 when 2 then now() + interval '1 hour' when 1 then null else now() end, null, now() from ${each}`
  yield* sql`
    insert into webhook_deliveries (id, event_id, webhook_id, next_at, created_at)
    select 'dlv_slow_' || n, 'evt_' || n, 'wh_1', now(), now() from ${each}`
  yield* sql`update webhooks set is_active = false where substr(id, 4)::int % 4 = 3`
  const outbox = yield* WebhookOutbox
  yield* Effect.repeat(outbox.claim({ limit: 1000, perWebhook: 4, leaseMillis: 3_600_000 }), {
    until: ({ untilNextMillis }) => untilNextMillis === null || untilNextMillis > 60_000
  })
  yield* sql`vacuum analyze`
})

// What was read is counted by the session that read it.
const node = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url, { maxConnections: 1 })))
)

const claimant = { worker: "w", leaseMillis: 60_000, limit: 64 }
const longAgo = new Date(0)

const suite = () =>
  layer(Layer.provideMerge(Layer.effectDiscard(seed), node), { excludeTestServices: true })((it) => {
    it.effect.each<{ readonly what: string; readonly call: Effect.Effect<unknown, unknown, Backend> }>([
      {
        what: "for runs that wait",
        call: Effect.flatMap(RunRepo, (repo) => repo.claim({ ...claimant, perWorkspace: 8, perOwner: 8 }))
      },
      {
        what: "for when a scheduled run is due",
        call: Effect.flatMap(RunRepo, (repo) => repo.untilDue)
      },
      { what: "for scheduled runs that are due", call: Effect.flatMap(RunRepo, (repo) => repo.makeDue(200)) },
      {
        what: "for runs whose worker is gone",
        call: Effect.flatMap(RunRepo, (repo) => repo.takeOver({ ...claimant, maxCrashes: 3 }))
      },
      {
        what: "for runs of which something is forgotten",
        call: Effect.flatMap(RunRepo, (repo) =>
          repo.prune({ eventsBefore: longAgo, journalsBefore: longAgo, limit: 200 })
        )
      },
      {
        what: "for approvals that nobody decided about in time",
        call: Effect.flatMap(ApprovalRepo, (repo) => repo.expire(100))
      },
      {
        what: "for what calls hold of budgets that are over",
        call: Effect.flatMap(BudgetRepo, (repo) => repo.bury(100))
      },
      {
        what: "for hidden conversations that are forgotten",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.forgetHidden(longAgo, 50))
      },
      { what: "for tokens", call: Effect.flatMap(TokenRepo, (repo) => repo.prune(longAgo, 200)) },
      {
        what: "for entries of the audit log",
        call: Effect.flatMap(AuditRepo, (repo) => repo.prune(longAgo, 1_000))
      },
      {
        what: "for idempotency keys",
        call: Effect.flatMap(IdempotencyRepo, (repo) => repo.prune(200))
      },
      {
        what: "for what is being removed",
        call: Effect.flatMap(RemovalRepo, (repo) => repo.pending(100))
      },
      {
        what: "for when a cron job is due",
        call: Effect.flatMap(CronFireRepo, (repo) => repo.untilDue)
      },
      { what: "for cron jobs that are due", call: Effect.flatMap(CronFireRepo, (repo) => repo.claim(200)) },
      {
        what: "for slots that are to be made up",
        call: Effect.flatMap(CronBackfillRepo, (repo) => repo.claim(200, { free: 1, pro: 1 }))
      },
      {
        what: "for missed slots",
        call: Effect.flatMap(CronFireRepo, (repo) => repo.claimBacklog(60_000))
      },
      {
        what: "for slots that are forgotten",
        call: Effect.flatMap(CronFireRepo, (repo) => repo.forget(24 * 3_600_000, 1_000))
      },
      {
        what: "for deliveries of webhooks that are due",
        call: Effect.flatMap(WebhookOutbox, (outbox) =>
          outbox.claim({ limit: 64, perWebhook: 4, leaseMillis: 60_000 })
        )
      },
      {
        what: "for events of webhooks that are forgotten",
        call: Effect.flatMap(WebhookOutbox, (outbox) => outbox.prune(longAgo, 1_000))
      },
      {
        what: "for the oldest snapshot",
        call: Effect.flatMap(Snapshots, ({ oldestSeconds }) => oldestSeconds)
      }
    ])("a look $what reads little where none is there", ({ call }) =>
      Effect.gen(function* () {
        const { blocks } = yield* blocksRead(call)
        assert.isAtMost(blocks, mostBlocks)
      })
    )
  })

if (Postgres.hasPostgres) describe("What is looked through regularly on PostgreSQL", suite)
else describe.skip(Postgres.skipped("What is looked through regularly on PostgreSQL"), suite)
