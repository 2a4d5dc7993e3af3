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
import { Rights } from "./Rights.ts"
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

/**
 * What a user may see, decided in one place (CONTRACT.md section 2, 403 and 404). What any member may do is decided by
 * `Rights`; of what an owner alone may do the database is asked.
 */
export class Access extends Context.Service<
  Access,
  {
    /** For a workspace that the caller named: `Forbidden` also when there is no such workspace. */
    readonly member: (user: User, id: WorkspaceId) => Effect.Effect<Role, Forbidden | Unavailable>
    /** For what an owner alone may do in a workspace that the caller named, which `error` tells who is none. */
    readonly owner: (
      user: User,
      id: WorkspaceId,
      error?: string
    ) => Effect.Effect<void, Forbidden | Unavailable>
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
      const rights = yield* Rights
      const workspaces = yield* WorkspaceRepo
      const ofMember = (roles: Pick<WorkspaceRepo["Service"], "role">) => (user: User, id: WorkspaceId) =>
        Effect.flatMap(
          Effect.andThen(RequestFacts.tell({ workspaceId: id }), roleOf(roles, id, user.id)),
          (role): Effect.Effect<Role, Forbidden> =>
            Option.isSome(role) ? Effect.succeed(role.value) : notMember
        )
      const exactly = ofMember(workspaces)
      const seen = <A extends { readonly workspaceId: WorkspaceId }>(
        roles: Pick<WorkspaceRepo["Service"], "role">,
        user: User,
        kind: string,
        resource: Option.Option<A>
      ) => {
        if (Option.isNone(resource)) return notFound(kind)
        const { workspaceId } = resource.value
        return Effect.flatMap(
          Effect.andThen(RequestFacts.tell({ workspaceId }), roleOf(roles, workspaceId, user.id)),
          (role) =>
            Option.isSome(role) ? Effect.succeed({ found: resource.value, role: role.value }) : notFound(kind)
        )
      }
      return Access.of({
        member: ofMember(rights),
        owner: Effect.fnUntraced(function* (user, id, error) {
          if ((yield* exactly(user, id)) !== "owner") return yield* onlyOwner(id, error)
        }),
        owned: Effect.fnUntraced(function* (user, kind, resource) {
          const { found, role } = yield* seen(workspaces, user, kind, resource)
          return role === "owner" ? found : yield* onlyOwner(found.workspaceId)
        }),
        visible: (user, kind, resource) =>
          Effect.map(seen(rights, user, kind, resource), ({ found }) => found)
      })
    })
  )
}
