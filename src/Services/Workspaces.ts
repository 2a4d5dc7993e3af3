import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import {
  type Forbidden,
  type InvalidInput,
  type NotFound,
  type RateLimited,
  Unauthenticated,
  type Unavailable
} from "../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import {
  type AddMember,
  type CreateWorkspace,
  type Member,
  newWorkspace,
  type UpdateWorkspace,
  type WorkspaceView
} from "../Schemas/Workspace.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { orUnknown } from "./References.ts"
import { Settings } from "./Settings.ts"
import { Transaction } from "./Transaction.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"
import { makeChecks } from "./Workspaces/Checks.ts"
import { makeMembers } from "./Workspaces/Members.ts"

/** What a caller does with workspaces and their members (CONTRACT.md section 8). */
export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** The caller becomes its owner; `Unauthenticated` when it was deleted since it was let in. */
    readonly create: (
      user: User,
      input: CreateWorkspace
    ) => Effect.Effect<WorkspaceView, PlanLimitExceeded | Unauthenticated | Unavailable>
    /** Those of the caller, oldest first. */
    readonly list: (user: User) => Effect.Effect<ReadonlyArray<WorkspaceView>, Unavailable>
    readonly get: (user: User, id: WorkspaceId) => Effect.Effect<WorkspaceView, NotFound | Unavailable>
    /** By an owner. */
    readonly update: (
      user: User,
      id: WorkspaceId,
      patch: UpdateWorkspace
    ) => Effect.Effect<WorkspaceView, Forbidden | InvalidInput | NotFound | Unavailable>
    readonly members: (
      user: User,
      id: WorkspaceId
    ) => Effect.Effect<ReadonlyArray<Member>, NotFound | Unavailable>
    /**
     * By an owner. Adding a member again sets the role; an owner stays. Whoever else has this e-mail, now or one day, may
     * use the workspace and is a member from then on: the caller learns nothing of whether there is such a user. At most
     * `mostMembers`, and no faster than `invitationRate`.
     */
    readonly addMember: (
      user: User,
      id: WorkspaceId,
      input: AddMember
    ) => Effect.Effect<
      Member,
      Forbidden | InvalidInput | NotFound | PlanLimitExceeded | RateLimited | Unavailable
    >
    /**
     * By an owner, or whoever leaves; an owner stays. Cron jobs that this one answers for are switched off in the same
     * transaction.
     */
    readonly removeMember: (
      user: User,
      id: WorkspaceId,
      userId: UserId
    ) => Effect.Effect<void, Forbidden | NotFound | Unavailable>
  }
>()("agentd/Services/Workspaces") {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const ids = yield* Ids
      const repo = yield* WorkspaceRepo
      const most = (yield* Settings).quotas.workspacesOwned
      const transaction = yield* Transaction

      const { get, requireOwner, requireOwnKey } = yield* makeChecks
      const members = yield* makeMembers

      return Workspaces.of({
        get,
        ...members,
        create: Effect.fn("Workspaces.create")((user, { name }) =>
          transaction.atomically(
            Effect.gen(function* () {
              const at = yield* now
              const id = yield* ids.make<WorkspaceId>("workspace")
              const workspace = newWorkspace({ id, name, plan: "free", at })
              yield* repo.insert(workspace, user.id, most).pipe(audited("workspace.create", ofWorkspace(id)))
              if (!(yield* repo.addMember(id, user.id, "owner", at))) {
                return yield* new Unauthenticated({ error: "the caller was deleted meanwhile" })
              }
              return { ...workspace, role: "owner" as const }
            })
          )
        ),
        list: (user) => repo.list(user.id),
        update: Effect.fn("Workspaces.update")((user, id, patch) =>
          transaction.atomically(
            Effect.gen(function* () {
              const workspace = yield* requireOwner(user, id)
              yield* requireOwnKey(id, patch.defaultProviderKeyId)
              if (Object.keys(patch).length > 0)
                yield* orUnknown(
                  repo
                    .update(id, { ...workspace, ...patch }, yield* now)
                    .pipe(audited("workspace.update", ofWorkspace(id)))
                )
              return yield* get(user, id)
            })
          )
        )
      })
    })
  )
}

const ofWorkspace = (id: WorkspaceId) => ({ workspaceId: id, id })
