import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Forbidden, type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import type { Role } from "../Schemas/Workspace.ts"
import { audited } from "./Audited.ts"
import * as RequestFacts from "./RequestFacts.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** Refuses what an owner alone may do, which the audit log tells. */
export const onlyOwner = (workspaceId: WorkspaceId, error = "only an owner of the workspace may do this") =>
  Effect.andThen(
    RequestFacts.tell({ workspaceId, isRightRefused: true }),
    Effect.suspend(() => new Forbidden({ error }))
  )

export const notMember = Effect.suspend(
  () => new Forbidden({ error: "workspaceId: you are not a member of this workspace" })
)

/** What a caller is in a workspace. One who was invited becomes a member by it, which the audit log tells. */
export const roleOf = (
  { role }: Pick<WorkspaceRepo["Service"], "role">,
  workspaceId: WorkspaceId,
  id: UserId
) => role(workspaceId, id).pipe(audited("member.join", { workspaceId, id }))

/** What a user may see, decided in one place (CONTRACT.md section 2, 403 and 404). */
export class Access extends Context.Service<
  Access,
  {
    /** For a workspace that the caller named: `Forbidden` also when there is no such workspace. */
    readonly member: (user: User, id: WorkspaceId) => Effect.Effect<Role, Forbidden | Unavailable>
    /** For what an owner alone may do in a workspace that the caller named. */
    readonly owner: (user: User, id: WorkspaceId) => Effect.Effect<void, Forbidden | Unavailable>
    /** As `visible`, for what an owner alone may do with it: `Forbidden` for other members. */
    readonly owned: <A extends { readonly workspaceId: WorkspaceId }>(
      user: User,
      kind: string,
      resource: Option.Option<A>
    ) => Effect.Effect<A, Forbidden | NotFound | Unavailable>
    /**
     * For a resource that the caller addressed by its id: it, if it is there and in a workspace of the
     * caller's; otherwise one `NotFound` for both, so that no difference can be seen.
     */
    readonly visible: <A extends { readonly workspaceId: WorkspaceId }>(
      user: User,
      kind: string,
      resource: Option.Option<A>
    ) => Effect.Effect<A, NotFound | Unavailable>
  }
>()("agentd/Services/Access") {
  static readonly layer = Layer.effect(
    Access,
    Effect.gen(function* () {
      const workspaces = yield* WorkspaceRepo
      const member = Effect.fn("Access.member")(function* (user: User, id: WorkspaceId) {
        yield* RequestFacts.tell({ workspaceId: id })
        const role = yield* roleOf(workspaces, id, user.id)
        if (Option.isSome(role)) return role.value
        return yield* notMember
      })
      const seen = Effect.fnUntraced(function* <A extends { readonly workspaceId: WorkspaceId }>(
        user: User,
        kind: string,
        resource: Option.Option<A>
      ) {
        if (Option.isNone(resource)) return yield* notFound(kind)
        const { workspaceId } = resource.value
        yield* RequestFacts.tell({ workspaceId })
        const role = yield* roleOf(workspaces, workspaceId, user.id)
        return Option.isSome(role) ? { found: resource.value, role: role.value } : yield* notFound(kind)
      })
      return Access.of({
        member,
        owner: Effect.fn("Access.owner")(function* (user: User, id: WorkspaceId) {
          if ((yield* member(user, id)) !== "owner") return yield* onlyOwner(id)
        }),
        owned: Effect.fn("Access.owned")(function* (user, kind, resource) {
          const { found, role } = yield* seen(user, kind, resource)
          return role === "owner" ? found : yield* onlyOwner(found.workspaceId)
        }),
        visible: Effect.fn("Access.visible")((user, kind, resource) =>
          Effect.map(seen(user, kind, resource), ({ found }) => found)
        )
      })
    })
  )
}
