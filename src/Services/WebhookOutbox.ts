import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { WebhookDeliveryId, WebhookId, WorkspaceId } from "../Schemas/Ids.ts"
import type { StoredWebhook, WebhookDisabledReason } from "../Schemas/Webhook.ts"
import type { WebhookAttempt, WebhookDelivery, WebhookDeliveryStatus } from "../Schemas/WebhookDelivery.ts"
import type { StoredWebhookEvent } from "../Schemas/WebhookEvent.ts"

/** A delivery that this worker is to attempt now. `attempt` fences: of an earlier one nothing is written any more. */
export interface ClaimedDelivery {
  readonly id: WebhookDeliveryId
  readonly attempt: number
  readonly webhook: StoredWebhook
  readonly event: StoredWebhookEvent
}

/** So many are counted: more are as many. */
export const mostBacklog = 10_000

/** What came of an attempt. */
export interface Attempted {
  readonly id: WebhookDeliveryId
  readonly attempt: number
  readonly result: WebhookAttempt
  /** `retry`: again so many milliseconds from now. `gone`: it is `failed`, and its webhook is switched off. */
  readonly outcome:
    | { readonly type: "delivered" | "failed" | "gone" }
    | { readonly type: "retry"; readonly afterMillis: number }
}

/**
 * The outbox of webhooks: what is still to be told, and what was. Events and their deliveries come into it in the
 * transaction of what they tell of, and by nobody else. Leases and times of attempts go by the clock of the store.
 */
export class WebhookOutbox extends Context.Service<
  WebhookOutbox,
  {
    /**
     * Takes up to `limit` deliveries that are due, each leased for so long. Webhooks take turns, and of one no more than
     * `perWebhook` are leased, however many claim at the same time. One whose lease has ended is due again. Those of a
     * webhook that is not active wait. `untilNextMillis`: when to look again, null where nothing waits; `isUsed`:
     * whether there is an active webhook at all. Those of `exceptWorkspaces` are left to others: they keep this worker
     * as busy as a workspace may. A webhook whose last attempt failed has one leased at a time until one succeeds.
     */
    readonly claim: (options: {
      readonly limit: number
      readonly perWebhook: number
      /**
       * Webhooks that answer at once: of one of which none is leased so many are, and then none until these are written
       * or given back, or a second has passed. Whoever claims attempts them `perWebhook` at a time, and gives back in that
       * second what it has not begun.
       */
      readonly quick?: { readonly ids: ReadonlyArray<WebhookId>; readonly perWebhook: number } | undefined
      readonly leaseMillis: number
      readonly exceptWorkspaces?: ReadonlyArray<WorkspaceId>
    }) => Effect.Effect<
      {
        readonly deliveries: ReadonlyArray<ClaimedDelivery>
        readonly untilNextMillis: number | null
        readonly isUsed: boolean
      },
      Unavailable
    >
    /** Those were not begun: they are due again at once, and it was no attempt. */
    readonly giveBack: (
      claimed: ReadonlyArray<Pick<ClaimedDelivery, "id" | "attempt">>
    ) => Effect.Effect<void, Unavailable>
    /**
     * Writes what came of attempts; those that are not the latest any more are left out. A webhook whose attempts have
     * all failed for `failingMillis` is switched off, as one that is `gone`, with an entry of the audit log each: which
     * ones were, in this call.
     */
    readonly settle: (
      attempted: ReadonlyArray<Attempted>,
      failingMillis: number
    ) => Effect.Effect<
      ReadonlyArray<{
        readonly id: WebhookId
        readonly workspaceId: WorkspaceId
        readonly reason: WebhookDisabledReason
      }>,
      Unavailable
    >
    /** Of a webhook, newest first, up to `limit` of those behind (older than) `after`. */
    readonly list: (filter: {
      readonly webhookId: WebhookId
      readonly status?: WebhookDeliveryStatus | undefined
      readonly after: WebhookDeliveryId | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<WebhookDelivery>, Unavailable>
    /** With the workspace that it is of. */
    readonly find: (
      id: WebhookDeliveryId
    ) => Effect.Effect<Option.Option<WebhookDelivery & { readonly workspaceId: WorkspaceId }>, Unavailable>
    /**
     * Due at once and as if never attempted, with the same event; none when it is gone. One that is being attempted is
     * due when that is over, whatever comes of it.
     */
    readonly redeliver: (id: WebhookDeliveryId) => Effect.Effect<Option.Option<WebhookDelivery>, Unavailable>
    /** An event of `testType` for this webhook alone, due at once. None when it is gone or not active. */
    readonly test: (id: WebhookId, at: Date) => Effect.Effect<Option.Option<WebhookDelivery>, Unavailable>
    /**
     * How many of active webhooks are pending, `mostBacklog` at most, and for how many seconds the one has been due that
     * has been for longest.
     */
    readonly backlog: Effect.Effect<{ readonly pending: number; readonly oldestSeconds: number }, Unavailable>
    /** Forgets up to `limit` events made before a moment with their deliveries, whatever became of them: how many. */
    readonly prune: (before: Date, limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/WebhookOutbox") {}
