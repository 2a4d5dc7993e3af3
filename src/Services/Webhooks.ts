import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import { type Forbidden, InvalidInput, type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { WebhookDeliveryId, WebhookId, WorkspaceId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import {
  type CreateWebhook,
  eventsOf,
  type NewWebhook,
  toWebhook,
  type UpdateWebhook,
  type Webhook,
  WebhookInactive
} from "../Schemas/Webhook.ts"
import type { WebhookDelivery, WebhookDeliveryStatus } from "../Schemas/WebhookDelivery.ts"
import { secretOf } from "../Schemas/WebhookSignature.ts"
import { Access } from "./Access.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { SecretBox } from "./SecretBox.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import { WebhookOutbox } from "./WebhookOutbox.ts"
import { WebhookRepo } from "./WebhookRepo.ts"

const secretBytes = 32
/** For so long the secret before signs as well. */
const rotationMillis = 86_400_000

type Refused = Forbidden | NotFound | Unavailable

/** What owners do with the webhooks of a workspace (CONTRACT.md section 12). Nobody else sees that there are any. */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** The secret is in the answer, and sealed before it is stored. */
    readonly create: (
      user: User,
      input: CreateWebhook
    ) => Effect.Effect<NewWebhook, Forbidden | InvalidInput | PlanLimitExceeded | Unavailable>
    /** All of the workspace, oldest first. */
    readonly list: (
      user: User,
      workspaceId: WorkspaceId
    ) => Effect.Effect<ReadonlyArray<Webhook>, Forbidden | Unavailable>
    readonly find: (user: User, id: WebhookId) => Effect.Effect<Webhook, Refused>
    /** An absent field stays. Switched on it is no longer `disabled`, and what waits for it is sent. */
    readonly update: (user: User, id: WebhookId, input: UpdateWebhook) => Effect.Effect<Webhook, Refused>
    /** It is gone at once, and what was to be told to it. */
    readonly remove: (user: User, id: WebhookId) => Effect.Effect<void, Refused>
    /** A new secret, beside which the one before signs for 24 h; one before that no longer. */
    readonly rotateSecret: (user: User, id: WebhookId) => Effect.Effect<NewWebhook, InvalidInput | Refused>
    /** Has an event of type `webhook.test` sent to it alone. */
    readonly test: (user: User, id: WebhookId) => Effect.Effect<WebhookDelivery, WebhookInactive | Refused>
    /** Newest first, and whether there is more behind. */
    readonly deliveries: (
      user: User,
      filter: {
        readonly id: WebhookId
        readonly status?: WebhookDeliveryStatus | undefined
        readonly after?: WebhookDeliveryId | undefined
        readonly limit: number
      }
    ) => Effect.Effect<
      { readonly deliveries: ReadonlyArray<WebhookDelivery>; readonly next: WebhookDeliveryId | null },
      Refused
    >
    /** Whatever became of it: the same event is sent anew, as if it never was. */
    readonly redeliver: (user: User, id: WebhookDeliveryId) => Effect.Effect<WebhookDelivery, Refused>
  }
>()("agentd/Services/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const deliveries = yield* makeDeliveries
      const repo = yield* WebhookRepo
      const makeSecret = yield* makeSecrets
      const { quotas } = yield* Settings
      const signals = yield* Signals
      /** Whoever sends looks more often where there is a webhook that is on. */
      const told = (isActive: boolean) => (isActive ? signals.publish({ type: "webhooks" }) : Effect.void)

      const owned = yield* makeOwned
      const orGone = Option.match({
        onNone: () => notFound("webhook"),
        onSome: Effect.succeed<Parameters<typeof toWebhook>[0]>
      })

      return Webhooks.of({
        create: Effect.fnUntraced(function* (
          user,
          { description = null, events, isActive = true, url, workspaceId }
        ) {
          yield* access.owner(user, workspaceId)
          const id = yield* ids.make<WebhookId>("webhook")
          const { sealed, secret } = yield* makeSecret(id)
          const at = yield* now
          const webhook = {
            id,
            workspaceId,
            url,
            description,
            events: eventsOf(events),
            isActive,
            disabledAt: null,
            disabledReason: null,
            createdAt: at,
            updatedAt: at,
            sealedSecret: sealed,
            previousSealedSecret: null,
            previousUntil: null,
            failingSince: null
          }
          yield* repo.insert(webhook, quotas.webhooks).pipe(audited("webhook.create", webhook))
          yield* told(isActive)
          return { ...toWebhook(webhook), secret }
        }),
        list: Effect.fnUntraced(function* (user, workspaceId) {
          yield* access.owner(user, workspaceId)
          return (yield* repo.list(workspaceId)).map(toWebhook)
        }),
        find: (user, id) => Effect.map(owned(user, id), toWebhook),
        update: Effect.fnUntraced(function* (user, id, { events, ...input }) {
          const webhook = yield* owned(user, id)
          const change = { ...input, ...(events !== undefined && { events: eventsOf(events) }) }
          const changed = yield* repo.update(id, change, yield* now).pipe(audited("webhook.update", webhook))
          const updated = yield* orGone(changed)
          yield* told(updated.isActive)
          return toWebhook(updated)
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const webhook = yield* owned(user, id)
          if (!(yield* repo.remove(id).pipe(audited("webhook.delete", webhook))))
            return yield* notFound("webhook")
        }),
        rotateSecret: Effect.fnUntraced(function* (user, id) {
          const webhook = yield* owned(user, id)
          const { sealed, secret } = yield* makeSecret(id)
          const at = yield* now
          const previousUntil = new Date(at.getTime() + rotationMillis)
          const changed = yield* repo
            .rotate(id, { sealedSecret: sealed, previousUntil }, at)
            .pipe(audited("webhook.rotate_secret", webhook))
          return { ...toWebhook(yield* orGone(changed)), secret }
        }),
        ...deliveries
      })
    })
  )
}

/** New secrets, sealed for the webhook with this id. Without a key to seal with none is made. */
const makeSecrets = Effect.gen(function* () {
  const box = yield* SecretBox
  const random = yield* Effect.provide(SecureRandom.SecureRandom, SecureRandom.layerWebCrypto)
  return Effect.fnUntraced(function* (id: WebhookId) {
    const secret = secretOf(yield* Effect.orDie(random.randomBytes(secretBytes)))
    const sealed = yield* box
      .seal(id, Redacted.make(secret))
      .pipe(Effect.mapError(({ error }) => new InvalidInput({ error: `secret: ${error}` })))
    return { secret, sealed }
  })
})

/** A webhook, for one of its owners. */
const makeOwned = Effect.gen(function* () {
  const access = yield* Access
  const repo = yield* WebhookRepo
  return (user: User, id: WebhookId) =>
    Effect.flatMap(repo.find(id), (found) => access.owned(user, "webhook", found))
})

/** What is sent, and what was. */
const makeDeliveries = Effect.gen(function* () {
  const access = yield* Access
  const outbox = yield* WebhookOutbox
  const owned = yield* makeOwned
  return {
    test: Effect.fnUntraced(function* (user, id) {
      const webhook = yield* owned(user, id)
      const made = yield* outbox.test(id, yield* now).pipe(audited("webhook.test", webhook))
      return yield* Option.match(made, {
        onNone: () => new WebhookInactive({ error: "this webhook is switched off, and is sent nothing" }),
        onSome: Effect.succeed
      })
    }),
    deliveries: Effect.fnUntraced(function* (user, { after = null, id, limit, status }) {
      yield* owned(user, id)
      const found = yield* outbox.list({ webhookId: id, status, after, limit: limit + 1 })
      const deliveries = found.slice(0, limit)
      return { deliveries, next: found.length > limit ? (deliveries.at(-1)?.id ?? null) : null }
    }),
    redeliver: Effect.fnUntraced(function* (user, id) {
      const kind = "webhook delivery"
      const { workspaceId } = yield* access.owned(user, kind, yield* outbox.find(id))
      const again = yield* outbox.redeliver(id).pipe(audited("webhook.redeliver", { workspaceId, id }))
      return yield* Option.match(again, { onNone: () => notFound(kind), onSome: Effect.succeed })
    })
  } satisfies Pick<Webhooks["Service"], "test" | "deliveries" | "redeliver">
})
