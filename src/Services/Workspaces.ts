import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import {
  Forbidden,
  InvalidInput,
  type NotFound,
  notFound,
  Unauthenticated,
  type Unavailable,
  unknownReference
} from "../Schemas/Errors.ts"
import type { ProviderKeyId, UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Email, User } from "../Schemas/User.ts"
import {
  type AddMember,
  type CreateWorkspace,
  isOnlyOwner,
  type Member,
  newWorkspace,
  type UpdateWorkspace,
  type WorkspaceView
} from "../Schemas/Workspace.ts"
import { onlyOwner } from "./Access.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { ProviderKeyRepo } from "./ProviderKeyRepo.ts"
import { orUnknown } from "./References.ts"
import { Settings } from "./Settings.ts"
import { Transaction } from "./Transaction.ts"
import { UserRepo } from "./UserRepo.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

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
    /** By an owner, for a user that exists. Adding a member again sets the role; an owner stays. */
    readonly addMember: (
      user: User,
      id: WorkspaceId,
      input: AddMember
    ) => Effect.Effect<Member, Forbidden | InvalidInput | NotFound | PlanLimitExceeded | Unavailable>
    /** By an owner, or whoever leaves; an owner stays. */
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
      const users = yield* UserRepo

      const { get, requireMember, requireOtherOwner, requireOwner, requireOwnKey } = yield* makeChecks

      return Workspaces.of({
        get,
        create: Effect.fn("Workspaces.create")((user, { name }) =>
          transaction.atomically(
            Effect.gen(function* () {
              const at = yield* now
              const id = yield* ids.make<WorkspaceId>("workspace")
              const workspace = newWorkspace({ id, name, plan: "free", at })
              yield* repo.insert(workspace, user.id)
              if (!(yield* repo.addMember(id, user.id, "owner", at, most))) {
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
                yield* orUnknown(repo.update(id, { ...workspace, ...patch }, yield* now))
              return yield* get(user, id)
            })
          )
        ),
        members: Effect.fn("Workspaces.members")(function* (user, id) {
          yield* get(user, id)
          return yield* repo.members(id)
        }),
        addMember: Effect.fn("Workspaces.addMember")((user, id, input) =>
          transaction.atomically(
            Effect.gen(function* () {
              yield* requireOwner(user, id)
              const found = yield* users.findByEmail(input.email.trim().toLowerCase() as Email)
              if (Option.isNone(found)) return yield* nobody
              const role = input.role ?? "member"
              if (role !== "owner") yield* requireOtherOwner(id, found.value.id)
              if (!(yield* repo.addMember(id, found.value.id, role, yield* now, most))) return yield* nobody
              const member = (yield* repo.members(id)).find(({ userId }) => userId === found.value.id)
              return member ?? (yield* notFound("member"))
            })
          )
        ),
        removeMember: Effect.fn("Workspaces.removeMember")((user, id, userId) =>
          transaction.atomically(
            Effect.gen(function* () {
              yield* user.id === userId ? requireMember(user, id) : requireOwner(user, id)
              yield* requireOtherOwner(id, userId)
              if (!(yield* repo.removeMember(id, userId))) return yield* notFound("member")
            })
          )
        )
      })
    })
  )
}

const nobody = new InvalidInput({ error: "email: there is no user with this e-mail" })

/** What has to hold before a workspace is shown or changed. */
const makeChecks = Effect.gen(function* () {
  const keys = yield* ProviderKeyRepo
  const repo = yield* WorkspaceRepo

  const get = Effect.fn("Workspaces.get")(function* (user: User, id: WorkspaceId) {
    const role = yield* repo.role(id, user.id)
    const workspace = yield* repo.find(id)
    return Option.isSome(role) && Option.isSome(workspace)
      ? { ...workspace.value, role: role.value }
      : yield* notFound("workspace")
  })
  /** Within a transaction: who is a member now stays one until it ends, with the same role. */
  const requireMember = Effect.fnUntraced(function* (user: User, id: WorkspaceId) {
    yield* get(user, id)
    yield* repo.lock(id)
    return yield* get(user, id)
  })
  const requireOwner = Effect.fnUntraced(function* (user: User, id: WorkspaceId) {
    const workspace = yield* requireMember(user, id)
    if (workspace.role === "owner") return workspace
    return yield* onlyOwner
  })

  /** Behind the lock of the workspace: one who is alone as owner stays one. */
  const requireOtherOwner = Effect.fnUntraced(function* (id: WorkspaceId, userId: UserId) {
    if (!isOnlyOwner(yield* repo.members(id), userId)) return
    return yield* new Forbidden({ error: "a workspace must keep an owner" })
  })

  const requireOwnKey = Effect.fnUntraced(function* (id: WorkspaceId, key: ProviderKeyId | null | undefined) {
    if (key == null) return
    const found = Option.getOrUndefined(yield* keys.find(key))
    if (found?.workspaceId !== id) return yield* unknownReference("defaultProviderKeyId")
  })

  return { get, requireMember, requireOwner, requireOtherOwner, requireOwnKey }
})
