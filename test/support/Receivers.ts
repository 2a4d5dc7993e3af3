import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import type { WebhookDeliveryId, WebhookEventId, WebhookId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { StoredWebhook } from "../../src/Schemas/Webhook.ts"
import type { WebhookAttempt } from "../../src/Schemas/WebhookDelivery.ts"
import type { StoredWebhookEvent } from "../../src/Schemas/WebhookEvent.ts"
import { monotonicMillis } from "../../src/Services/CurrentTime.ts"
import { Outbound } from "../../src/Services/Outbound.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { type Attempted, WebhookOutbox } from "../../src/Services/WebhookOutbox.ts"
import * as WebhookSender from "../../src/Services/WebhookSender.ts"
import { postBy } from "./Posts.ts"
import { eventually } from "./Until.ts"

export const secret = `whsec_${Buffer.alloc(32, 3).toString("base64")}`
export const formerSecret = `whsec_${Buffer.alloc(32, 4).toString("base64")}`

interface Row {
  readonly id: WebhookDeliveryId
  readonly webhook: StoredWebhook
  readonly event: StoredWebhookEvent
  attempts: number
  dueAt: number | null
  leasedUntil: number
  status: "pending" | "delivered" | "failed"
  readonly results: Array<WebhookAttempt>
}

type Disabled = Effect.Success<ReturnType<WebhookOutbox["Service"]["settle"]>>

/** An outbox that does what the port says, in a list; the test puts in what is to be told, and takes the store away. */
const makeOutbox = () => {
  const rows: Array<Row> = []
  const state = {
    isAway: false,
    /** How long a claim takes to be answered. */
    claimMillis: 0,
    /** Settling dies of this one. */
    poison: undefined as WebhookDeliveryId | undefined,
    disabled: [] as Array<Disabled[number]>,
    claims: [] as Array<Parameters<WebhookOutbox["Service"]["claim"]>[0]>,
    settled: [] as Array<ReadonlyArray<Attempted>>,
    pruned: [] as Array<Date>
  }
  const asked = <A>(answer: (at: number) => A) =>
    Effect.flatMap(monotonicMillis, (at) =>
      state.isAway ? new Unavailable({ error: "away" }) : Effect.sync(() => answer(at))
    )
  const settle = (attempted: ReadonlyArray<Attempted>) =>
    asked((at) => {
      if (attempted.some(({ id }) => id === state.poison)) throw new Error("poison")
      state.settled.push(attempted)
      for (const { attempt, id, outcome, result } of attempted) {
        const row = rows.find((one) => one.id === id && one.attempts === attempt)
        if (row === undefined) continue
        row.leasedUntil = 0
        row.results.push(result)
        row.dueAt = outcome.type === "retry" ? at + outcome.afterMillis : null
        row.status =
          outcome.type === "retry" ? "pending" : outcome.type === "delivered" ? "delivered" : "failed"
      }
      return state.disabled.splice(0)
    })
  const isDue = (row: Row, at: number) => row.dueAt !== null && row.dueAt <= at && row.leasedUntil <= at
  const port = WebhookOutbox.of({
    claim: (options) =>
      asked((at) => {
        state.claims.push(options)
        const leased = (id: WebhookId) =>
          rows.filter(({ leasedUntil, webhook }) => webhook.id === id && leasedUntil > at).length
        const deliveries = []
        const mostOf = (id: WebhookId) =>
          options.quick?.ids.includes(id) === true && leasedBefore.get(id) === 0
            ? options.quick.perWebhook
            : options.perWebhook
        const leasedBefore = new Map(rows.map(({ webhook }) => [webhook.id, leased(webhook.id)]))
        for (const row of rows) {
          if (deliveries.length === options.limit) break
          if (!isDue(row, at) || leased(row.webhook.id) >= mostOf(row.webhook.id)) continue
          if (options.exceptWorkspaces?.includes(row.webhook.workspaceId) === true) continue
          row.leasedUntil = at + options.leaseMillis
          row.attempts++
          deliveries.push({ id: row.id, attempt: row.attempts, webhook: row.webhook, event: row.event })
        }
        const waiting = rows.flatMap((row) =>
          row.dueAt === null ? [] : [Math.max(row.dueAt, row.leasedUntil)]
        )
        const untilNextMillis = waiting.length === 0 ? null : Math.max(0, Math.min(...waiting) - at)
        return { deliveries, untilNextMillis, isUsed: rows.length > 0 }
      }).pipe(Effect.tap(Effect.suspend(() => Effect.sleep(state.claimMillis)))),
    settle,
    giveBack: (claimed) =>
      asked((at) => {
        for (const { attempt, id } of claimed) {
          const row = rows.find((one) => one.id === id && one.attempts === attempt)
          if (row === undefined) continue
          row.attempts--
          row.leasedUntil = 0
          row.dueAt = at
        }
      }),
    list: () => Effect.succeed([]),
    find: () => Effect.succeedNone,
    redeliver: () => Effect.succeed(Option.none()),
    test: () => Effect.succeed(Option.none()),
    backlog: asked((at) => {
      const due = rows.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt]))
      return { pending: due.length, oldestSeconds: due.length === 0 ? 0 : (at - Math.min(...due)) / 1_000 }
    }),
    prune: (before) =>
      asked(() => {
        state.pruned.push(before)
        return state.pruned.length === 1 ? 200 : 0
      })
  })
  return { port, rows, state }
}

/** What a receiver was sent. */
export interface Sent {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly signal: AbortSignal
  readonly redirect: RequestInit["redirect"]
}

export const makeReceivers = Effect.gen(function* () {
  const { port, rows, state } = makeOutbox()
  const sent: Array<Sent> = []
  const receiver = {
    answer: (_sent: Sent): Response | Promise<Response> => new Response(null, { status: 204 })
  }
  const guarded: typeof fetch = async (input, init) => {
    const one = {
      url: String(input),
      headers: init?.headers as Record<string, string>,
      body: new TextDecoder().decode(init?.body as Uint8Array),
      signal: init?.signal ?? new AbortController().signal,
      redirect: init?.redirect
    }
    sent.push(one)
    return await receiver.answer(one)
  }
  const box = yield* SecretBox
  let count = 0

  const webhook = Effect.fnUntraced(function* (given: Partial<StoredWebhook> = {}) {
    const id = (given.id ?? `whk_${++count}`) as WebhookId
    const at = new Date(0)
    return {
      id,
      workspaceId: "ws_1" as WorkspaceId,
      url: `https://receiver.example/${id}`,
      description: null,
      events: ["*"],
      isActive: true,
      disabledAt: null,
      disabledReason: null,
      createdAt: at,
      updatedAt: at,
      sealedSecret: yield* box.seal(id, Redacted.make(secret)),
      previousSealedSecret: null,
      previousUntil: null,
      failingSince: null,
      ...given
    } satisfies StoredWebhook
  })

  /** Something that this webhook is to be told now. */
  const tell = Effect.fnUntraced(function* (to: StoredWebhook, given: Partial<StoredWebhookEvent> = {}) {
    const n = ++count
    const row: Row = {
      id: `dlv_${n}` as WebhookDeliveryId,
      webhook: to,
      event: {
        id: `evt_${n}` as WebhookEventId,
        workspaceId: to.workspaceId,
        type: "webhook.test",
        at: new Date(1_234),
        facts: {},
        traceparent: null,
        ...given
      },
      attempts: 0,
      dueAt: yield* monotonicMillis,
      leasedUntil: 0,
      status: "pending",
      results: []
    }
    rows.push(row)
    return row
  })

  /** A node that sends, until `close`; `stop` waits until it is closed, and moves the clock. */
  const start = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const node = WebhookSender.layer.pipe(
      Layer.provide([
        Layer.succeed(WebhookOutbox, port),
        Layer.succeed(Outbound, { guarded, post: postBy(guarded), trusted: guarded })
      ]),
      Layer.fresh
    )
    yield* Layer.buildWithScope(node, scope)
    const close = Scope.close(scope, Exit.void)
    const stop = Effect.gen(function* () {
      const closing = yield* Effect.forkChild(close)
      yield* eventually(
        Effect.andThen(
          TestClock.adjust("1 seconds"),
          Effect.sync(() => closing.pollUnsafe() !== undefined)
        ),
        "closed"
      )
    })
    return { close, stop }
  })

  return { receiver, rows, sent, start, state, tell, webhook }
})

/** Moves the clock by milliseconds until it is so: between them what computes has its turn. */
export const soon = (is: () => boolean, what: string) =>
  eventually(Effect.andThen(TestClock.adjust(5), Effect.sync(is)), what)
