import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { ReferenceGone, Unavailable } from "../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Email, User } from "../Schemas/User.ts"
import type { Invitation, Plan, Role, StoredMember, Workspace, WorkspaceView } from "../Schemas/Workspace.ts"

/** Workspaces and who belongs to them. */
export class WorkspaceRepo extends Context.Service<
  WorkspaceRepo,
  {
    /**
     * `createdBy` is who made it, for good: what runs in all workspaces of one maker has a limit (`RunRepo.claim`),
     * whoever is a member by then. Null: nobody, and no such limit. With `most` it is refused where this one has made as
     * many as the best plan of the workspaces that it owns allows, exactly; within a transaction.
     */
    readonly insert: (
      workspace: Workspace,
      createdBy: UserId | null,
      most?: ByPlan
    ) => Effect.Effect<void, PlanLimitExceeded | Unavailable>
    readonly find: (id: WorkspaceId) => Effect.Effect<Option.Option<Workspace>, Unavailable>
    /** As `find`, and nobody else locks or changes it before the surrounding transaction ends. */
    readonly lock: (id: WorkspaceId) => Effect.Effect<Option.Option<Workspace>, Unavailable>
    /** Those that the user is a member of or invited to, oldest first. */
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
     * the surrounding transaction ends, and one who is being removed is waited for. An invitation of the user ends.
     */
    readonly addMember: (
      id: WorkspaceId,
      userId: UserId,
      role: Role,
      at: Date
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * The user who has this e-mail, now or one day, may use the workspace; nobody is asked whether there is one. An
     * e-mail that is invited already keeps its invitation and gets the role. Until the surrounding transaction ends
     * nobody becomes a member by it. Whether the e-mail is that of a member is to be looked at behind this, and
     * `addMember` ends the invitation then.
     */
    readonly invite: (id: WorkspaceId, invitation: Invitation) => Effect.Effect<void, Unavailable>
    /** With those who are invited, oldest first; without users who are gone. */
    readonly members: (id: WorkspaceId) => Effect.Effect<ReadonlyArray<StoredMember>, Unavailable>
    /**
     * Takes out who has this id, or had it as an invitation, or whom an invitation is for. Whose membership ended, or
     * the given id where it was an invitation alone; none where there was neither.
     */
    readonly removeMember: (
      id: WorkspaceId,
      userId: UserId
    ) => Effect.Effect<Option.Option<UserId>, Unavailable>
    /** Takes the user out of every workspace, also where no owner is left, and ends all invitations of the e-mail. */
    readonly removeMemberships: (user: Pick<User, "id" | "email">) => Effect.Effect<void, Unavailable>
    /**
     * None when the user is no member or is disabled, or there is no such workspace. Whoever is invited becomes a member
     * by this: ask it of a caller, and of nobody else.
     */
    readonly role: (id: WorkspaceId, userId: UserId) => Effect.Effect<Option.Option<Role>, Unavailable>
    /**
     * Those of them who may use the workspace. Whoever takes one of these out, disables or deletes it waits until the
     * surrounding transaction ends. Jobs are locked behind this, since they are switched off behind a removal.
     */
    readonly lockMembers: (
      id: WorkspaceId,
      userIds: ReadonlyArray<UserId>
    ) => Effect.Effect<ReadonlyArray<UserId>, Unavailable>
    /** What others are told of a user, and whether it may use the workspace. None when it is gone, or never was. */
    readonly profile: (
      id: WorkspaceId,
      userId: UserId
    ) => Effect.Effect<Option.Option<{ readonly email: Email; readonly isMember: boolean }>, Unavailable>
  }
>()("agentd/Services/WorkspaceRepo") {}
