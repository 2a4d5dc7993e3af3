import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { WebhookDeliveryId, WebhookId } from "../../src/Schemas/Ids.ts"
import type { WebhookAttempt } from "../../src/Schemas/WebhookDelivery.ts"
import { AuditRepo } from "../../src/Services/AuditRepo.ts"
import { Signals } from "../../src/Services/Signals.ts"
import { type Attempted, type ClaimedDelivery, WebhookOutbox } from "../../src/Services/WebhookOutbox.ts"
import type { It } from "../support/Backends.ts"
import { at, makeWorkspace } from "../support/Fixtures.ts"
import { eventually } from "../support/Until.ts"
import { makeWebhook, tell, WebhookRows } from "../support/Webhooks.ts"

const leaseMillis = 600_000
const failingMillis = 5 * 24 * 3_600_000
const never = 3_600_000

const refused: WebhookAttempt = {
  at: at(5),
  statusCode: 500,
  error: "the answer was 500",
  durationMs: 12
}
const taken: WebhookAttempt = { at: at(6), statusCode: 204, error: null, durationMs: 7 }

const came = (
  { attempt, id }: Pick<ClaimedDelivery, "id" | "attempt">,
  outcome: Attempted["outcome"] | "delivered" | "failed" | "gone"
): Attempted => ({
  id,
  attempt,
  result: outcome === "delivered" ? taken : refused,
  outcome: typeof outcome === "string" ? { type: outcome } : outcome
})

const retry = (afterMillis: number) => ({ type: "retry", afterMillis }) as const

const idsOf = ({ deliveries }: { readonly deliveries: ReadonlyArray<{ readonly id: string }> }) =>
  deliveries.map(({ id }) => id)

const countOf = (deliveries: ReadonlyArray<ClaimedDelivery>, id: WebhookId) =>
  deliveries.filter(({ webhook }) => webhook.id === id).length

/** What an earlier test left waiting is taken out of the way first. */
const makeSubject = Effect.gen(function* () {
  const outbox = yield* WebhookOutbox
  const rows = yield* WebhookRows
  const workspaceId = yield* makeWorkspace
  const claim = (given: Partial<Parameters<typeof outbox.claim>[0]> = {}) =>
    outbox.claim({ limit: 1000, perWebhook: 4, leaseMillis, ...given })
  const settle = (...attempted: ReadonlyArray<Attempted>) => outbox.settle(attempted, failingMillis)
  const settleAll = (
    { deliveries }: { readonly deliveries: ReadonlyArray<ClaimedDelivery> },
    outcome: Parameters<typeof came>[1]
  ) => settle(...deliveries.map((each) => came(each, outcome)))
  const first = <A>(given: ReadonlyArray<A>) => Effect.fromOption(Option.fromUndefinedOr(given[0]))
  const tellOne = (webhook: Parameters<typeof tell>[0][number], event: Parameters<typeof tell>[1] = {}) =>
    Effect.flatMap(tell([webhook], event), first)
  yield* outbox.prune(new Date(Date.UTC(2100, 0)), 1_000_000)
  const shown = (id: WebhookDeliveryId | undefined) =>
    Effect.flatMap(outbox.find(id ?? ("" as WebhookDeliveryId)), Effect.fromOption)
  const make = (given: Parameters<typeof makeWebhook>[1] = {}) => makeWebhook(workspaceId, given)
  const tellMany = (webhook: Parameters<typeof tell>[0][number], count: number) =>
    Effect.map(
      Effect.forEach(Array.from({ length: count }), () => tell([webhook])),
      (ids) => ids.flat()
    )
  const disabledIn = (given = workspaceId) =>
    Effect.flatMap(AuditRepo, (audit) =>
      Effect.map(audit.list({ workspaceId: given, after: null, limit: 100 }), (entries) =>
        entries
          .filter(({ action }) => action === "webhook.disabled")
          .map(({ actor, targetId }) => ({ actor, targetId }))
      )
    )
  return { claim, disabledIn, make, outbox, rows, settle, settleAll, shown, tellMany, tellOne, workspaceId }
})

export const suite = (it: It) =>
  describe("WebhookOutbox", { concurrent: false }, () => {
    it.effect("gives each delivery with its webhook and its event, once until its lease ends", () =>
      Effect.gen(function* () {
        const { claim, make, shown, tellOne } = yield* makeSubject
        const webhook = yield* make({ description: "d", previousSealedSecret: "p", previousUntil: at(9) })
        const id = yield* tellOne(webhook, { facts: { text: "é\u2028", n: 1 }, traceparent: "00-a-b-01" })
        const { deliveries, isUsed, untilNextMillis } = yield* claim()
        assert.deepStrictEqual(
          deliveries.map(({ event: { id: _, ...event }, ...rest }) => ({ ...rest, event })),
          [
            {
              id,
              attempt: 1,
              webhook,
              event: {
                workspaceId: webhook.workspaceId,
                type: "run.completed",
                at: at(),
                facts: { text: "é\u2028", n: 1 },
                traceparent: "00-a-b-01"
              }
            }
          ]
        )
        assert.isTrue(isUsed)
        assert.isAtMost(untilNextMillis ?? Number.NaN, leaseMillis)
        assert.isAbove(untilNextMillis ?? Number.NaN, leaseMillis / 2)
        assert.deepStrictEqual(idsOf(yield* claim()), [])
        assert.strictEqual((yield* shown(id)).attempts, 1)
      })
    )

    it.effect("gives a delivery whose lease has ended again, and takes no word of the attempt before", () =>
      Effect.gen(function* () {
        const { claim, make, settleAll, shown } = yield* makeSubject
        yield* tell([yield* make()])
        const lost = yield* claim({ leaseMillis: 0 })
        const again = yield* claim()
        assert.deepStrictEqual(idsOf(again), idsOf(lost))
        assert.strictEqual(again.deliveries[0]?.attempt, 2)
        yield* settleAll(lost, "failed")
        assert.strictEqual((yield* shown(again.deliveries[0]?.id)).status, "pending")
        yield* settleAll(again, "delivered")
        yield* settleAll(again, "failed")
        const { lastAttempt, nextAttemptAt, status } = yield* shown(again.deliveries[0]?.id)
        assert.deepStrictEqual([status, nextAttemptAt, lastAttempt], ["delivered", null, taken])
      })
    )

    it.effect("has no more of a webhook leased than may be, and more when one is over", () =>
      Effect.gen(function* () {
        const { claim, make, settle, tellMany } = yield* makeSubject
        const webhook = yield* make()
        const ids = yield* tellMany(webhook, 10)
        const first = yield* claim({ limit: 3 })
        const second = yield* claim()
        assert.deepStrictEqual([...idsOf(first), ...idsOf(second)], ids.slice(0, 4))
        const full = yield* claim()
        assert.deepStrictEqual(idsOf(full), [])
        assert.isAbove(full.untilNextMillis ?? Number.NaN, leaseMillis / 2)
        yield* settle(...first.deliveries.slice(0, 2).map((each) => came(each, "delivered")))
        assert.deepStrictEqual(idsOf(yield* claim()), ids.slice(4, 6))
      })
    )

    it.effect("has many leased at once of a webhook that answers at once, and none beside them", () =>
      Effect.gen(function* () {
        const { claim, make, settle, settleAll, tellMany } = yield* makeSubject
        const webhook = yield* make()
        yield* tellMany(webhook, 20)
        const quick = { ids: [webhook.id], perWebhook: 10 }
        const { deliveries } = yield* claim({ quick })
        assert.lengthOf(deliveries, 10)
        const done = deliveries.map((each) => came(each, "delivered"))
        yield* settle(...done.slice(0, 9))
        const beside = yield* claim({ quick })
        assert.deepStrictEqual(idsOf(beside), [])
        assert.isAtMost(beside.untilNextMillis ?? Number.NaN, 1_000)
        yield* settle(...done.slice(9))
        const last = yield* claim({ quick })
        assert.lengthOf(last.deliveries, 10)
        yield* settleAll(last, "delivered")
        assert.deepStrictEqual(idsOf(yield* claim({ quick })), [])
      })
    )

    it.effect("has as many leased beside them as of any other once they are no longer new", () =>
      Effect.gen(function* () {
        const { claim, make, settleAll, tellMany } = yield* makeSubject
        const webhook = yield* make()
        yield* tellMany(webhook, 4)
        const quick = { ids: [webhook.id], perWebhook: 2 }
        const first = yield* claim({ quick })
        assert.lengthOf(first.deliveries, 2)
        let second = yield* claim({ quick })
        assert.deepStrictEqual(idsOf(second), [])
        yield* eventually(
          Effect.map(claim({ quick }), (claimed) => {
            second = claimed
            return claimed.deliveries.length > 0
          }),
          "claimed beside them"
        )
        assert.lengthOf(second.deliveries, 2)
        for (const each of [first, second]) yield* settleAll(each, "delivered")
        assert.deepStrictEqual(idsOf(yield* claim({ quick })), [])
        const failing = yield* make({ failingSince: at(0) })
        yield* tellMany(failing, 2)
        for (let n = 0; n < 2; n++) {
          const one = yield* claim({ quick: { ids: [failing.id], perWebhook: 10 } })
          assert.lengthOf(one.deliveries, 1)
          yield* settleAll(one, "failed")
        }
        assert.deepStrictEqual(idsOf(yield* claim()), [])
      })
    )

    it.effect("has what was given back due again at once, and no attempt of it", () =>
      Effect.gen(function* () {
        const { claim, make, outbox, settleAll, shown, tellMany } = yield* makeSubject
        const webhook = yield* make()
        yield* tellMany(webhook, 2)
        const claimed = yield* claim()
        const [first, second] = claimed.deliveries
        assert.isDefined(first)
        assert.isDefined(second)
        yield* outbox.giveBack([first])
        const { attempts, lastAttempt, status } = yield* shown(first.id)
        assert.deepStrictEqual([attempts, lastAttempt, status], [0, null, "pending"])
        const again = yield* claim()
        assert.deepStrictEqual(idsOf(again), [first.id])
        assert.strictEqual(again.deliveries[0]?.attempt, 1)
        // One whose lease has ended, and of which another attempt was begun, is not given back.
        yield* outbox.giveBack([{ id: second.id, attempt: 2 }])
        assert.strictEqual((yield* shown(second.id)).attempts, 1)
        yield* settleAll(again, "delivered")
        yield* outbox.giveBack([first])
        assert.strictEqual((yield* shown(first.id)).status, "delivered")
        yield* outbox.giveBack([])
      })
    )

    it.effect("has exactly as many leased where many claim and settle at the same time", () =>
      Effect.gen(function* () {
        const { claim, make, settleAll, tellMany } = yield* makeSubject
        const webhooks = yield* Effect.all([make(), make(), make()])
        const ids = yield* Effect.forEach(webhooks, (webhook) => tellMany(webhook, 20))
        const held = new Map<WebhookId, number>()
        const seen: Array<string> = []
        const work = Effect.gen(function* () {
          while (seen.length < 60) {
            const claimed = yield* claim({ limit: 5 })
            for (const { id, webhook } of claimed.deliveries) {
              seen.push(id)
              held.set(webhook.id, (held.get(webhook.id) ?? 0) + 1)
              assert.isAtMost(held.get(webhook.id) ?? 0, 4)
            }
            yield* Effect.yieldNow
            for (const { webhook } of claimed.deliveries)
              held.set(webhook.id, (held.get(webhook.id) ?? 0) - 1)
            yield* settleAll(claimed, "delivered")
          }
        })
        yield* Effect.all(
          Array.from({ length: 6 }, () => work),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(seen.toSorted(), ids.flat().toSorted())
      })
    )

    it.effect("serves webhooks in turns, and workspaces, however many webhooks one has", () =>
      Effect.gen(function* () {
        const { claim, make, settleAll, tellMany } = yield* makeSubject
        const many = yield* Effect.all(Array.from({ length: 20 }, () => make()))
        yield* Effect.forEach(many, (webhook) => tellMany(webhook, 5))
        const other = yield* makeWebhook(yield* makeWorkspace)
        yield* tellMany(other, 20)
        const served = new Map<string, number>()
        for (let turn = 0; turn < 10; turn++) {
          const claimed = yield* claim({ limit: 4 })
          for (const { webhook } of claimed.deliveries)
            served.set(webhook.id, (served.get(webhook.id) ?? 0) + 1)
          yield* settleAll(claimed, "delivered")
        }
        assert.strictEqual(served.get(other.id), 20)
        assert.isAtLeast(served.size, 5)
      })
    )

    it.effect("leaves those of workspaces that keep it busy to others", () =>
      Effect.gen(function* () {
        const { claim, make, tellOne, workspaceId } = yield* makeSubject
        yield* tell([yield* make()])
        const other = yield* makeWebhook(yield* makeWorkspace)
        const id = yield* tellOne(other)
        const claimed = yield* claim({ exceptWorkspaces: [workspaceId] })
        assert.deepStrictEqual(idsOf(claimed), [id])
        assert.isAbove(claimed.untilNextMillis ?? Number.NaN, leaseMillis / 2)
        assert.lengthOf((yield* claim()).deliveries, 1)
      })
    )

    it.effect("has one at a time leased of a webhook whose last attempt failed, until one succeeds", () =>
      Effect.gen(function* () {
        const { claim, make, rows, settle, settleAll, tellMany } = yield* makeSubject
        const webhook = yield* make()
        yield* tellMany(webhook, 10)
        const first = yield* claim({ limit: 1 })
        yield* settleAll(first, retry(never))
        assert.isNotNull((yield* rows.find(webhook.id))?.failingSince)
        const one = yield* claim()
        assert.lengthOf(one.deliveries, 1)
        assert.lengthOf((yield* claim()).deliveries, 0)
        yield* settleAll(one, "delivered")
        assert.isNull((yield* rows.find(webhook.id))?.failingSince)
        const four = yield* claim()
        assert.lengthOf(four.deliveries, 4)
        const [a, b, c, d] = four.deliveries as [
          ClaimedDelivery,
          ClaimedDelivery,
          ClaimedDelivery,
          ClaimedDelivery
        ]
        yield* settle(came(a, "delivered"), came(b, retry(never)))
        assert.isNotNull((yield* rows.find(webhook.id))?.failingSince)
        yield* settle(came(c, retry(never)), came(d, "delivered"))
        assert.isNull((yield* rows.find(webhook.id))?.failingSince)
      })
    )

    it.effect("tries again when it was told to", () =>
      Effect.gen(function* () {
        const { claim, make, settleAll, shown, tellOne } = yield* makeSubject
        const webhook = yield* make()
        const id = yield* tellOne(webhook)
        yield* settleAll(yield* claim({ leaseMillis: 2 * never }), retry(never))
        const { attempts, lastAttempt, nextAttemptAt, status } = yield* shown(id)
        assert.deepStrictEqual([status, attempts, lastAttempt], ["pending", 1, refused])
        assert.isNotNull(nextAttemptAt)
        const none = yield* claim()
        assert.deepStrictEqual(idsOf(none), [])
        assert.isAtMost(none.untilNextMillis ?? Number.NaN, never)
        const other = yield* tellOne(webhook)
        const next = yield* claim()
        assert.deepStrictEqual(idsOf(next), [other])
        yield* settleAll(next, retry(0))
        assert.deepStrictEqual(
          (yield* claim()).deliveries.map(({ attempt, id }) => [id, attempt]),
          [[other, 2]]
        )
      })
    )

    it.effect("keeps what is for a webhook that is not active, until it is", () =>
      Effect.gen(function* () {
        const { claim, make, rows, tellMany } = yield* makeSubject
        const webhook = yield* make()
        const ids = yield* tellMany(webhook, 2)
        yield* rows.change(webhook.id, { isActive: false })
        const off = yield* claim()
        assert.deepStrictEqual(idsOf(off), [])
        assert.isAbove(off.untilNextMillis ?? Number.POSITIVE_INFINITY, leaseMillis / 2)
        yield* rows.change(webhook.id, { isActive: true })
        assert.deepStrictEqual(idsOf(yield* claim()), ids)
      })
    )

    it.effect("switches a webhook off that is gone, once, with an entry of the audit log", () =>
      Effect.gen(function* () {
        const { claim, disabledIn, make, rows, settleAll, shown, tellMany, workspaceId } = yield* makeSubject
        const webhook = yield* make()
        const ids = yield* tellMany(webhook, 3)
        const claimed = yield* claim({ limit: 2 })
        assert.deepStrictEqual(yield* settleAll(claimed, "gone"), [
          { id: webhook.id, workspaceId, reason: "gone" }
        ])
        assert.deepStrictEqual(yield* settleAll(claimed, "gone"), [])
        const stored = yield* rows.find(webhook.id)
        assert.deepStrictEqual([stored?.isActive, stored?.disabledReason], [false, "gone"])
        assert.isNotNull(stored?.disabledAt)
        assert.deepStrictEqual(yield* disabledIn(), [{ actor: { system: "webhooks" }, targetId: webhook.id }])
        assert.deepStrictEqual(
          yield* Effect.forEach(ids, (id) => Effect.map(shown(id), ({ status }) => status)),
          ["failed", "failed", "pending"]
        )
        assert.deepStrictEqual(idsOf(yield* claim()), [])
      })
    )

    it.effect("switches a webhook off that only failed for so long, and no other", () =>
      Effect.gen(function* () {
        const { claim, disabledIn, make, rows, settle, settleAll, workspaceId } = yield* makeSubject
        const since = (millis: number) => new Date(Date.now() - millis)
        const long = yield* make({ failingSince: since(failingMillis + 60_000) })
        const young = yield* make({ failingSince: since(failingMillis - 60_000) })
        const well = yield* make({ failingSince: since(failingMillis + 60_000) })
        yield* tell([long, young, well])
        const { deliveries } = yield* claim()
        assert.lengthOf(deliveries, 3)
        assert.deepStrictEqual(
          yield* settle(
            ...deliveries.map((each) => came(each, each.webhook.id === well.id ? "delivered" : retry(0)))
          ),
          [{ id: long.id, workspaceId, reason: "failing" }]
        )
        assert.deepStrictEqual(yield* disabledIn(), [{ actor: { system: "webhooks" }, targetId: long.id }])
        assert.strictEqual((yield* rows.find(long.id))?.disabledReason, "failing")
        assert.deepStrictEqual(
          [(yield* rows.find(young.id))?.isActive, (yield* rows.find(young.id))?.failingSince],
          [true, young.failingSince]
        )
        assert.isNull((yield* rows.find(well.id))?.failingSince)
        yield* settleAll(yield* claim(), "delivered")
      })
    )

    it.effect("lists newest first, all or those of a status, in pages", () =>
      Effect.gen(function* () {
        const { claim, make, outbox, settle } = yield* makeSubject
        const webhook = yield* make()
        const other = yield* make()
        const ids: Array<WebhookDeliveryId> = []
        for (let n = 0; n < 6; n++) ids.push(...(yield* tell([webhook], { at: at(n < 3 ? n : 3) })))
        yield* tell([other])
        const { deliveries } = yield* claim()
        const of = (n: number) => deliveries.find(({ id }) => id === ids[n]) as ClaimedDelivery
        yield* settle(came(of(0), "delivered"), came(of(1), "failed"), came(of(2), "delivered"))
        const newest = ids.toReversed()
        const listed = (given: Partial<Parameters<typeof outbox.list>[0]>) =>
          Effect.map(outbox.list({ webhookId: webhook.id, after: null, limit: 10, ...given }), (found) =>
            found.map(({ id }) => id)
          )
        assert.deepStrictEqual(yield* listed({}), newest)
        assert.deepStrictEqual(yield* listed({ limit: 2 }), newest.slice(0, 2))
        assert.deepStrictEqual(yield* listed({ limit: 2, after: newest[1] ?? null }), newest.slice(2, 4))
        assert.deepStrictEqual(yield* listed({ status: "delivered" }), [ids[2], ids[0]])
        assert.deepStrictEqual(yield* listed({ status: "delivered", after: ids[2] ?? null }), [ids[0]])
        assert.deepStrictEqual(yield* listed({ status: "failed" }), [ids[1]])
        assert.deepStrictEqual(yield* listed({ status: "pending" }), newest.slice(0, 3))
      })
    )

    it.effect("sends anew what is over, as if never attempted", () =>
      Effect.gen(function* () {
        const { claim, make, outbox, settleAll, shown, tellOne, workspaceId } = yield* makeSubject
        const webhook = yield* make()
        const id = yield* tellOne(webhook)
        const first = yield* claim()
        yield* settleAll(first, "failed")
        const again = yield* Effect.flatMap(outbox.redeliver(id), Effect.fromOption)
        assert.deepStrictEqual([again.status, again.attempts, again.lastAttempt], ["pending", 0, refused])
        const next = yield* claim()
        assert.deepStrictEqual(
          next.deliveries.map(({ attempt, event, id }) => [id, attempt, event.id]),
          [[id, 1, first.deliveries[0]?.event.id]]
        )
        yield* settleAll(next, "delivered")
        yield* outbox.redeliver(id)
        assert.deepStrictEqual(idsOf(yield* claim()), [id])
        assert.strictEqual((yield* shown(id)).workspaceId, workspaceId)
        assert.isTrue(Option.isNone(yield* outbox.redeliver("dlv_none" as WebhookDeliveryId)))
        assert.isTrue(Option.isNone(yield* outbox.find("dlv_none" as WebhookDeliveryId)))
      })
    )

    it.effect("sends anew what is being attempted when that is over, whatever comes of it", () =>
      Effect.gen(function* () {
        const { claim, make, outbox, rows, settleAll, shown, tellOne } = yield* makeSubject
        const webhook = yield* make()
        const id = yield* tellOne(webhook)
        const first = yield* claim()
        yield* outbox.redeliver(id)
        assert.deepStrictEqual(idsOf(yield* claim()), [])
        assert.deepStrictEqual(yield* settleAll(first, "gone"), [])
        const { attempts, lastAttempt, status } = yield* shown(id)
        assert.deepStrictEqual([status, attempts, lastAttempt], ["pending", 0, null])
        assert.isTrue((yield* rows.find(webhook.id))?.isActive)
        assert.deepStrictEqual(
          (yield* claim()).deliveries.map(({ attempt, id }) => [id, attempt]),
          [[id, 1]]
        )
      })
    )

    it.effect("makes an event to see whether it arrives, for an active webhook alone", () =>
      Effect.gen(function* () {
        const { claim, make, outbox } = yield* makeSubject
        const webhook = yield* make()
        yield* make()
        const made = yield* Effect.flatMap(outbox.test(webhook.id, at(3)), Effect.fromOption)
        assert.deepStrictEqual(
          [made.webhookId, made.type, made.status, made.attempts, made.createdAt],
          [webhook.id, "webhook.test", "pending", 0, at(3)]
        )
        const { deliveries } = yield* claim()
        assert.deepStrictEqual(
          deliveries.map(({ event, id }) => [id, event.id, event.type, event.at]),
          [[made.id, made.eventId, "webhook.test", at(3)]]
        )
        const off = yield* make({ isActive: false })
        assert.isTrue(Option.isNone(yield* outbox.test(off.id, at(3))))
        assert.isTrue(Option.isNone(yield* outbox.test("wh_none" as WebhookId, at(3))))
      })
    )

    it.effect("tells senders when something is to be sent anew", () =>
      Effect.gen(function* () {
        const { make, outbox, tellOne } = yield* makeSubject
        const id = yield* tellOne(yield* make())
        const signals = yield* (yield* Signals).subscribe
        const isTold = { now: false }
        yield* signals.pipe(
          Stream.filter(({ type }) => type === "webhooks"),
          Stream.runForEach(() => Effect.sync(() => (isTold.now = true))),
          Effect.forkScoped
        )
        yield* eventually(
          Effect.andThen(
            outbox.redeliver(id),
            Effect.sync(() => isTold.now)
          ),
          "senders are told"
        )
      })
    )

    it.effect("counts what is pending of active webhooks", () =>
      Effect.gen(function* () {
        const { claim, make, outbox, rows, settle, tellMany } = yield* makeSubject
        assert.deepStrictEqual(yield* outbox.backlog, { pending: 0, oldestSeconds: 0 })
        const webhook = yield* make()
        const off = yield* make()
        yield* tellMany(webhook, 7)
        yield* tellMany(off, 3)
        yield* rows.change(off.id, { isActive: false })
        const { deliveries } = yield* claim()
        const [first] = deliveries
        if (first !== undefined) yield* settle(came(first, "delivered"))
        const { oldestSeconds, pending } = yield* outbox.backlog
        assert.strictEqual(pending, 6)
        assert.isAtLeast(oldestSeconds, 0)
        assert.strictEqual(countOf(deliveries, webhook.id), 4)
      })
    )

    it.effect("forgets old events with their deliveries, the oldest first", () =>
      Effect.gen(function* () {
        const { claim, make, outbox } = yield* makeSubject
        const webhook = yield* make()
        const ids: Array<WebhookDeliveryId> = []
        for (const n of [2, 0, 1, 3]) ids.push(...(yield* tell([webhook], { at: at(n) })))
        const last = ids.at(-1) ?? null
        yield* claim({ limit: 1 })
        assert.strictEqual(yield* outbox.prune(at(3), 2), 2)
        const kept = yield* outbox.list({ webhookId: webhook.id, after: null, limit: 10 })
        assert.deepStrictEqual(
          kept.map(({ id }) => id),
          [ids[3], ids[0]]
        )
        assert.strictEqual(yield* outbox.prune(at(3), 10), 1)
        assert.strictEqual(yield* outbox.prune(at(3), 10), 0)
        assert.deepStrictEqual(idsOf(yield* claim()), last === null ? [] : [last])
      })
    )
  })
