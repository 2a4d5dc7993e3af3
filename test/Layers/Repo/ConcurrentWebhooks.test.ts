import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { type ClaimedDelivery, WebhookOutbox } from "../../../src/Services/WebhookOutbox.ts"
import { at, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeWebhook, tell } from "../../support/Webhooks.ts"
import { makeNodes } from "./RunNodes.ts"

const claim = (limit = 100) =>
  Effect.flatMap(WebhookOutbox, (outbox) =>
    Effect.map(outbox.claim({ limit, perWebhook: 4, leaseMillis: 600_000 }), ({ deliveries }) => deliveries)
  )

const settle = (
  deliveries: ReadonlyArray<ClaimedDelivery>,
  outcomeOf: (n: number) => "delivered" | "failed" = () => "delivered"
) =>
  Effect.flatMap(WebhookOutbox, (outbox) =>
    outbox.settle(
      deliveries.map(({ attempt, id }, n) => ({
        id,
        attempt,
        result: { at: at(1), statusCode: 200, error: null, durationMs: 1 },
        outcome: { type: outcomeOf(n) }
      })),
      1000
    )
  )

const idsOf = (deliveries: ReadonlyArray<ClaimedDelivery>) => deliveries.map(({ id }) => id)

const within = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Transaction, ({ atomically }) => atomically(effect))

/** Two nodes, a webhook, and how many deliveries of it are leased. */
const makeSubject = Effect.gen(function* () {
  const nodes = yield* makeNodes(4)
  const webhook = yield* nodes.on(0, Effect.flatMap(makeWorkspace, makeWebhook))
  const tellMany = (count: number) =>
    Effect.forEach(Array.from({ length: count }), () => tell([webhook])).pipe(
      Effect.map((ids) => ids.flat()),
      (telling) => nodes.on(0, telling)
    )
  const sql = yield* nodes.on(0, PgClient)
  const leased = Effect.map(
    sql<{ count: number }>`
      select count(*)::int as count from webhook_deliveries where leased_until > clock_timestamp()`,
    ([row]) => row?.count ?? Number.NaN
  )
  return { ...nodes, leased, tellMany, webhook }
})

const suite = () => {
  it.live.each([
    { what: "is told to an idle webhook", before: 0 },
    { what: "is told to one that is being served", before: 2 }
  ])("a delivery that $what while others claim is found when it is committed", ({ before }) =>
    Effect.gen(function* () {
      const { on, tellMany, webhook } = yield* makeSubject
      const ids = yield* tellMany(before)
      // Of two, one stays: then it is not idle.
      if (before > 0) assert.deepStrictEqual(idsOf(yield* on(1, claim(1))), ids.slice(0, 1))
      else assert.deepStrictEqual(yield* on(1, claim()), [])
      const late = yield* on(
        0,
        within(
          Effect.gen(function* () {
            const told = yield* tell([webhook])
            // More than once: what it leaves behind is looked at again.
            assert.deepStrictEqual(idsOf(yield* on(1, claim())), ids.slice(1))
            assert.deepStrictEqual(yield* on(2, claim()), [])
            return told
          })
        )
      )
      assert.deepStrictEqual(idsOf(yield* on(1, claim())), late)
    })
  )

  it.live("what is settled while somebody else claims makes room for more", () =>
    Effect.gen(function* () {
      const { leased, on, tellMany } = yield* makeSubject
      const ids = yield* tellMany(6)
      const [first, ...others] = yield* on(0, claim())
      yield* on(0, settle(first === undefined ? [] : [first]))
      yield* on(
        0,
        within(
          Effect.gen(function* () {
            assert.deepStrictEqual(idsOf(yield* claim()), ids.slice(4, 5))
            yield* on(1, settle(others.slice(0, 1)))
          })
        )
      )
      assert.deepStrictEqual(idsOf(yield* on(1, claim())), ids.slice(5))
      assert.strictEqual(yield* leased, 4)
    })
  )

  it.live("what is settled makes room for more, if somebody has claimed since that was begun", () =>
    Effect.gen(function* () {
      const { leased, on, tellMany } = yield* makeSubject
      const ids = yield* tellMany(6)
      const first = yield* on(0, claim(2))
      const settling = yield* on(
        0,
        within(
          Effect.gen(function* () {
            const sql = yield* PgClient
            yield* sql`select from webhook_deliveries where id = ${ids[0]} for update`
            const fiber = yield* Effect.forkDetach(on(1, settle(first)))
            yield* Effect.orDie(on(1, Postgres.untilWaiting(1)))
            assert.deepStrictEqual(idsOf(yield* on(2, claim())), ids.slice(2, 4))
            return fiber
          })
        )
      )
      yield* Fiber.join(settling)
      assert.deepStrictEqual(idsOf(yield* on(1, claim())), ids.slice(4))
      assert.strictEqual(yield* leased, 4)
    })
  )

  it.live("fails no more behind a success, if another failure was written since that was begun", () =>
    Effect.gen(function* () {
      const { on, tellMany, webhook } = yield* makeSubject
      const ids = yield* tellMany(3)
      const all = yield* on(0, claim())
      const settling = yield* on(
        0,
        within(
          Effect.gen(function* () {
            const sql = yield* PgClient
            yield* sql`select from webhook_deliveries where id = ${ids[0]} for update`
            const both = settle(all.slice(0, 2), (n) => (n === 0 ? "failed" : "delivered"))
            const fiber = yield* Effect.forkDetach(on(1, both))
            yield* Effect.orDie(on(1, Postgres.untilWaiting(1)))
            yield* on(
              2,
              settle(all.slice(2), () => "failed")
            )
            return fiber
          })
        )
      )
      yield* Fiber.join(settling)
      const [found] = yield* on(
        0,
        Effect.flatMap(
          PgClient,
          (sql) => sql`select failing_since from webhooks where id = ${webhook.id} and failing_since is null`
        )
      )
      assert.isDefined(found)
    })
  )

  it.live("never has more of a webhook leased than may be, and loses none, whoever claims and tells", () =>
    Effect.gen(function* () {
      const { leased, on, together, webhook } = yield* makeSubject
      const other = yield* on(0, Effect.flatMap(makeWorkspace, makeWebhook))
      let telling = 8
      const told: Array<string> = []
      const sent: Array<string> = []
      const teller = Effect.gen(function* () {
        for (let n = 0; n < 25; n++)
          told.push(...(yield* within(Effect.tap(tell([n % 3 === 0 ? other : webhook]), Effect.yieldNow))))
        telling--
      })
      const sender = Effect.gen(function* () {
        while (telling > 0 || sent.length < told.length) {
          const claimed = yield* claim(3)
          assert.isAtMost(yield* leased, 8)
          sent.push(...idsOf(claimed))
          yield* settle(claimed)
        }
      })
      yield* Effect.all([together(8, () => teller), together(8, () => sender)], { concurrency: "unbounded" })
      assert.deepStrictEqual(sent.toSorted(), told.toSorted())
      assert.strictEqual(yield* leased, 0)
    })
  )

  it.live("webhooks that several say at the same time are gone are switched off once each", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeSubject
      const webhooks = yield* on(
        0,
        Effect.flatMap(makeWorkspace, (id) => Effect.replicateEffect(makeWebhook(id), 12))
      )
      yield* on(0, Effect.replicateEffect(tell(webhooks), 4, { discard: true }))
      const all = yield* on(0, claim())
      assert.lengthOf(all, 48)
      const failed = (deliveries: ReadonlyArray<ClaimedDelivery>) =>
        Effect.flatMap(WebhookOutbox, (outbox) =>
          outbox.settle(
            deliveries.map(({ attempt, id }) => ({
              id,
              attempt,
              result: { at: at(1), statusCode: 500, error: "no", durationMs: 1 },
              outcome: { type: "gone" }
            })),
            1000
          )
        )
      const off = yield* together(4, (n) =>
        failed(all.filter((_, index) => index % 4 === n).toSorted(() => (n % 2 === 0 ? 1 : -1)))
      )
      assert.deepStrictEqual(
        off.flatMap((each) => each.map(({ id }) => id)).toSorted(),
        webhooks.map(({ id }) => id).toSorted()
      )
    })
  )
}

if (Postgres.hasPostgres) describe("Deliveries of webhooks on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Deliveries of webhooks on PostgreSQL"), suite)
