import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Forbidden, notFound, unknownReference } from "../../Schemas/Errors.ts"
import type { ProviderKeyId, UserId, WorkspaceId } from "../../Schemas/Ids.ts"
import type { User } from "../../Schemas/User.ts"
import { isOnlyOwner, type Member } from "../../Schemas/Workspace.ts"
import { onlyOwner, roleOf } from "../Access.ts"
import { ProviderKeyRepo } from "../ProviderKeyRepo.ts"
import { WorkspaceRepo } from "../WorkspaceRepo.ts"

/** What has to hold before a workspace is shown or changed. */
export const makeChecks = Effect.gen(function* () {
  const keys = yield* ProviderKeyRepo
  const repo = yield* WorkspaceRepo

  const get = Effect.fnUntraced(function* (user: User, id: WorkspaceId) {
    const role = yield* roleOf(repo, id, user.id)
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
    return yield* onlyOwner(id)
  })

  const requireOwnKey = Effect.fnUntraced(function* (id: WorkspaceId, key: ProviderKeyId | null | undefined) {
    if (key == null) return
    const found = Option.getOrUndefined(yield* keys.find(key))
    if (found?.workspaceId !== id) return yield* unknownReference("defaultProviderKeyId")
  })

  return { get, requireMember, requireOwner, requireOwnKey }
})

/** Of members that were read behind the lock of the workspace: one who is alone as owner stays one. */
export const requireOtherOwner = (members: ReadonlyArray<Member>, userId: UserId) =>
  isOnlyOwner(members, userId)
    ? Effect.fail(new Forbidden({ error: "a workspace must keep an owner" }))
    : Effect.void
