import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ProviderKeyId, WorkspaceId } from "../Schemas/Ids.ts"
import type { StoredProviderKey, UsableProviderKey } from "../Schemas/ProviderKey.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"

/** The keys of inference providers that workspaces hold, sealed. */
export class ProviderKeyRepo extends Context.Service<
  ProviderKeyRepo,
  {
    /** `most` as in `AgentRepo`. */
    readonly insert: (
      key: StoredProviderKey,
      most?: ByPlan
    ) => Effect.Effect<void, PlanLimitExceeded | Unavailable>
    /** All of the workspace, oldest first. */
    readonly list: (workspaceId: WorkspaceId) => Effect.Effect<ReadonlyArray<StoredProviderKey>, Unavailable>
    /** All of the workspace, oldest first, at most one of them its default. */
    readonly usable: (
      workspaceId: WorkspaceId
    ) => Effect.Effect<ReadonlyArray<UsableProviderKey>, Unavailable>
    /** False when it is gone. */
    readonly update: (
      id: ProviderKeyId,
      change: Pick<StoredProviderKey, "pricing">
    ) => Effect.Effect<boolean, Unavailable>
    /** The same, and whether the workspace has a budget. */
    readonly forModels: (
      workspaceId: WorkspaceId
    ) => Effect.Effect<
      { readonly keys: ReadonlyArray<UsableProviderKey>; readonly hasBudget: boolean },
      Unavailable
    >
    /**
     * It is gone at once, its secret too, and what named it has none; that is let go of bit by bit (`RemovalRepo`).
     * False when it was gone.
     */
    readonly remove: (id: ProviderKeyId) => Effect.Effect<boolean, Unavailable>
    readonly find: (id: ProviderKeyId) => Effect.Effect<Option.Option<StoredProviderKey>, Unavailable>
  }
>()("agentd/Services/ProviderKeyRepo") {}
