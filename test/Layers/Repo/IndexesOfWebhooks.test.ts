import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { WebhookDeliveryId, WebhookId } from "../../../src/Schemas/Ids.ts"
import { type ClaimedDelivery, WebhookOutbox } from "../../../src/Services/WebhookOutbox.ts"
import { layerNode } from "../../support/Backends.ts"
import { at } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { blocksRead, indexUse } from "./IndexUse.ts"

/** 200 webhooks with 100 deliveries each that are over, and three that have 10,000 waiting each. */
const seed = Effect.gen(function* () {
  const sql = yield* PgClient
  yield* sql`insert into workspaces (id, name, plan, created_at, updated_at) values ('w', 'w', 'free', now(), now())`
  yield* sql`
    insert into webhooks (id, workspace_id, url, events, is_active, sealed_secret, created_at, updated_at)
    select 'wh_' || n, 'w', 'https://example.org', '["*"]', true, 's', now(), now() from generate_series(0, 202) n`
  yield* sql`
    insert into webhook_events (id, workspace_id, type, at, facts)
    select 'evt_' || n, 'w', 'run.completed', now() - n * interval '1 second', '{}' from generate_series(0, 29999) n`
  yield* sql`
    insert into webhook_deliveries (id, event_id, webhook_id, status, next_at, created_at)
    select 'dlv_' || n, 'evt_' || n, 'wh_' || n % 200, (array['delivered', 'failed'])[n / 200 % 2 + 1], null,
      now() - n * interval '1 second' from generate_series(0, 19999) n`
  yield* sql`
    insert into webhook_deliveries (id, event_id, webhook_id, next_at, created_at)
    select 'dlv_waits_' || n, 'evt_' || n, 'wh_' || 200 + n % 3, now(), now() from generate_series(0, 29999) n`
  yield* sql`vacuum analyze`
})

const node = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url, { maxConnections: 1 })))
)

const claim = (limit: number) =>
  Effect.flatMap(WebhookOutbox, (outbox) => outbox.claim({ limit, perWebhook: 4, leaseMillis: 60_000 }))

const settle = (deliveries: ReadonlyArray<ClaimedDelivery>) =>
  Effect.flatMap(WebhookOutbox, (outbox) =>
    outbox.settle(
      deliveries.map(({ attempt, id }) => ({
        id,
        attempt,
        result: { at: at(), statusCode: 200, error: null, durationMs: 1 },
        outcome: { type: "delivered" }
      })),
      1000
    )
  )

const webhookId = "wh_7" as WebhookId
const after = "dlv_2007" as WebhookDeliveryId

const suite = () =>
  layer(Layer.provideMerge(Layer.effectDiscard(seed), node), { excludeTestServices: true })((it) => {
    const table = "webhook_deliveries"
    const index = "webhook_deliveries_of_webhook"
    const list = (given: object) =>
      Effect.flatMap(WebhookOutbox, (outbox) => outbox.list({ webhookId, after: null, limit: 20, ...given }))
    it.effect.each([
      { what: "the list of a webhook", table, index, call: list({}) },
      { what: "the next page of it", table, index, call: list({ after }) },
      { what: "the list of those that failed", table, index, call: list({ status: "failed", after }) },
      {
        what: "the search for old events",
        table: "webhook_events",
        index: "webhook_events_by_age",
        call: Effect.flatMap(WebhookOutbox, (outbox) => outbox.prune(new Date(0), 10))
      },
      {
        what: "what goes with an event",
        table,
        index: "webhook_deliveries_of_event",
        call: Effect.flatMap(WebhookOutbox, (outbox) => outbox.prune(new Date(Date.UTC(2100, 0)), 1))
      },
      {
        what: "a claim and what comes of it",
        table,
        index: "webhook_deliveries_due",
        call: Effect.flatMap(claim(2), ({ deliveries }) => settle(deliveries))
      },
      {
        what: "sending anew",
        table,
        call: Effect.flatMap(WebhookOutbox, (outbox) => outbox.redeliver("dlv_5" as WebhookDeliveryId))
      },
      { what: "the backlog", table, call: Effect.flatMap(WebhookOutbox, ({ backlog }) => backlog) }
    ])("$what uses an index", indexUse)

    it.effect("what is kept of webhooks is vacuumed as early as runs are", () =>
      Effect.gen(function* () {
        const sql = yield* PgClient
        const found = yield* sql`
          select distinct reloptions from pg_class where relname in ('runs', 'webhook_events', 'webhook_deliveries')`
        assert.lengthOf(found, 1)
      })
    )

    it.effect("a claim of four reads little, whatever waits and whatever is over", () =>
      Effect.gen(function* () {
        const { blocks, value } = yield* blocksRead(claim(4))
        assert.lengthOf(value.deliveries, 4)
        assert.isAtMost(blocks, 400)
        const settled = yield* blocksRead(settle(value.deliveries))
        assert.isAtMost(settled.blocks, 400)
      })
    )
  })

if (Postgres.hasPostgres) describe("Indexes of webhooks on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Indexes of webhooks on PostgreSQL"), suite)
