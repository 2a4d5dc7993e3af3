import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Agent, StoredAgent, UpdateAgent } from "../Schemas/Agent.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { ReferenceGone, Unavailable } from "../Schemas/Errors.ts"
import type { AgentId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Policy } from "../Schemas/Policy.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Pages } from "./Pages.ts"

/** Agents, each with the summary of its provider key. */
export class AgentRepo extends Context.Service<
  AgentRepo,
  Pages<Agent> & {
    /**
     * Stores the agent; `providerKey` follows from `providerKeyId`. Returns it as it will be read. With `most` it is
     * refused where the workspace has as many as its plan allows, exactly, also under concurrent creation.
     */
    readonly insert: (
      agent: Omit<Agent, "providerKey">,
      most?: ByPlan
    ) => Effect.Effect<Agent, PlanLimitExceeded | ReferenceGone | Unavailable>
    /** With its policy, in one statement. */
    readonly find: (id: AgentId) => Effect.Effect<Option.Option<StoredAgent>, Unavailable>
    /** Up to two of a workspace that have this name: those that are active first, the oldest first. */
    readonly named: (
      workspaceId: WorkspaceId,
      name: string
    ) => Effect.Effect<ReadonlyArray<StoredAgent>, Unavailable>
    /**
     * Replaces the policy, null for none, where it is still what it was `before`, if that is given: atomic. False where it is another one by
     * now, or there is no such agent.
     */
    readonly setPolicy: (
      id: AgentId,
      policy: { readonly before?: Policy | null; readonly after: Policy | null },
      at: Date
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * It is gone at once, and what named it has none; that is let go of bit by bit (`RemovalRepo`). False when it was
     * gone.
     */
    readonly remove: (id: AgentId) => Effect.Effect<boolean, Unavailable>
    /** Atomic: absent fields keep what they have at that moment. None when there is no such agent. */
    readonly update: (
      id: AgentId,
      patch: UpdateAgent,
      at: Date
    ) => Effect.Effect<Option.Option<Agent>, ReferenceGone | Unavailable>
  }
>()("agentd/Services/AgentRepo") {}
