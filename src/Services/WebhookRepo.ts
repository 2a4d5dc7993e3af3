import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { WebhookId, WorkspaceId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { StoredWebhook } from "../Schemas/Webhook.ts"

/** The webhooks of workspaces, with their sealed secrets. */
export class WebhookRepo extends Context.Service<
  WebhookRepo,
  {
    /** `most` as in `AgentRepo`. */
    readonly insert: (
      webhook: StoredWebhook,
      most?: ByPlan
    ) => Effect.Effect<void, PlanLimitExceeded | Unavailable>
    readonly find: (id: WebhookId) => Effect.Effect<Option.Option<StoredWebhook>, Unavailable>
    /** All of the workspace, oldest first. */
    readonly list: (workspaceId: WorkspaceId) => Effect.Effect<ReadonlyArray<StoredWebhook>, Unavailable>
    /** As it is then; none when it is gone. Switched on it is no longer `disabled` nor `failingSince`. */
    readonly update: (
      id: WebhookId,
      change: Partial<Pick<StoredWebhook, "url" | "events" | "description" | "isActive">>,
      at: Date
    ) => Effect.Effect<Option.Option<StoredWebhook>, Unavailable>
    /** The secret that was there signs beside the new one until then; one before it no longer. None when it is gone. */
    readonly rotate: (
      id: WebhookId,
      secret: { readonly sealedSecret: string; readonly previousUntil: Date },
      at: Date
    ) => Effect.Effect<Option.Option<StoredWebhook>, Unavailable>
    /** It is gone at once, its secrets too; its deliveries are let go of bit by bit (`RemovalRepo`). False when it was gone. */
    readonly remove: (id: WebhookId) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/WebhookRepo") {}
