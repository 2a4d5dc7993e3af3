import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { ReferenceGone, Unavailable } from "../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Member, Plan, Role, Workspace, WorkspaceView } from "../Schemas/Workspace.ts"

/** Workspaces and who belongs to them. */
export class WorkspaceRepo extends Context.Service<
  WorkspaceRepo,
  {
    /**
     * `createdBy` is who made it, for good: what runs in all workspaces of one maker has a limit (`RunRepo.claim`),
     * whoever is a member by then. Null: nobody, and no such limit.
     */
    readonly insert: (workspace: Workspace, createdBy: UserId | null) => Effect.Effect<void, Unavailable>
    readonly find: (id: WorkspaceId) => Effect.Effect<Option.Option<Workspace>, Unavailable>
    /** As `find`, and nobody else locks or changes it before the surrounding transaction ends. */
    readonly lock: (id: WorkspaceId) => Effect.Effect<Option.Option<Workspace>, Unavailable>
    /** Those that the user is a member of, oldest first. */
    readonly list: (userId: UserId) => Effect.Effect<ReadonlyArray<WorkspaceView>, Unavailable>
    /** Of all, or those that a user is a member of, by id (which is by age); those behind `after` alone. */
    readonly page: (range: {
      readonly userId: UserId | null
      readonly after: WorkspaceId | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Workspace>, Unavailable>
    /** Locks all that the user owns, as `lock` does, one after the other by id. */
    readonly lockOwned: (userId: UserId) => Effect.Effect<void, Unavailable>
    /** Those that have no other owner than the user, by id, up to `limit`; who is gone is no owner. */
    readonly onlyOwned: (
      userId: UserId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Workspace>, Unavailable>
    /** False when there is no such workspace. */
    readonly update: (
      id: WorkspaceId,
      changes: Pick<Workspace, "name" | "defaultProviderKeyId">,
      at: Date
    ) => Effect.Effect<boolean, ReferenceGone | Unavailable>
    /** False when there is no such workspace. */
    readonly setPlan: (id: WorkspaceId, plan: Plan, at: Date) => Effect.Effect<boolean, Unavailable>
    /**
     * Idempotent: adding a member again sets the role. False where there is no such user. One who is there stays until
     * the surrounding transaction ends, and one who is being removed is waited for. With `most` nobody is made an owner
     * who owns as many workspaces as the best plan of them allows, exactly; within a transaction.
     */
    readonly addMember: (
      id: WorkspaceId,
      userId: UserId,
      role: Role,
      at: Date,
      most?: ByPlan
    ) => Effect.Effect<boolean, PlanLimitExceeded | Unavailable>
    /** Oldest first; without users who are gone. */
    readonly members: (id: WorkspaceId) => Effect.Effect<ReadonlyArray<Member>, Unavailable>
    /** False when the user was no member. */
    readonly removeMember: (id: WorkspaceId, userId: UserId) => Effect.Effect<boolean, Unavailable>
    /** Takes the user out of every workspace, also where no owner is left. */
    readonly removeMemberships: (userId: UserId) => Effect.Effect<void, Unavailable>
    /** None when the user is no member or is disabled, or there is no such workspace. */
    readonly role: (id: WorkspaceId, userId: UserId) => Effect.Effect<Option.Option<Role>, Unavailable>
  }
>()("agentd/Services/WorkspaceRepo") {}
