import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { UserId, WorkspaceId } from "../../../Schemas/Ids.ts"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import { isMember, memberKey, unlessGone } from "./Named.ts"
import { inOrder, pageOf } from "./Order.ts"
import { countAll, planOf, unlessFull } from "./Quotas.ts"
import { Store, type Tables } from "./Store.ts"

const onlyOwnedIn = ({ gone, members, workspaces }: Tables): WorkspaceRepo["Service"]["onlyOwned"] => {
  const ownersOf = (id: string) =>
    Array.from(members.values()).filter((member) => member.workspaceId === id && member.role === "owner")
  return (userId, limit) =>
    Effect.sync(() =>
      pageOf(
        Array.from(workspaces.values()).filter(({ id }) => {
          const owners = ownersOf(id).map((owner) => owner.userId)
          return owners.includes(userId) && owners.every((owner) => owner === userId || gone.has(owner))
        }),
        { after: null, limit }
      )
    )
}

/** Who belongs to workspaces. */
const ofMembers = (tables: Tables) => {
  const { gone, invitations, members, users } = tables
  /** Ends the invitation of a user, and says what it was. */
  const endOf = (id: WorkspaceId, userId: UserId) => {
    const place = memberKey(id, users.get(userId)?.email ?? "")
    const found = invitations.get(place)
    invitations.delete(place)
    return found
  }
  return {
    addMember: (id, userId, role, at) =>
      Effect.sync(() => {
        if (!users.has(userId) || gone.has(userId)) return false
        const place = memberKey(id, userId)
        const ended = endOf(id, userId)
        const former = members.get(place)
        members.set(place, {
          workspaceId: id,
          userId,
          role,
          createdAt: former?.createdAt ?? ended?.createdAt ?? at,
          invitationId: former?.invitationId ?? ended?.id ?? null
        })
        return true
      }),
    invite: (workspaceId, invitation) =>
      Effect.sync(() => {
        const place = memberKey(workspaceId, invitation.email)
        const former = invitations.get(place) ?? { ...invitation, workspaceId }
        invitations.set(place, { ...former, role: invitation.role })
      }),
    members: (id) =>
      Effect.sync(() => {
        const joined = Array.from(members.values())
          .filter((member) => member.workspaceId === id && !gone.has(member.userId))
          .map((member) => ({ ...member, email: users.get(member.userId)?.email ?? "", isPending: false }))
        const invited = Array.from(invitations.values())
          .filter(({ workspaceId }) => workspaceId === id)
          .map((each) => ({ ...each, userId: each.id, isPending: true, invitationId: each.id }))
        return [...joined, ...invited]
          .map(({ createdAt, email, invitationId, isPending, role, userId }) => ({
            id: userId,
            member: { userId, email, role, isPending, createdAt, invitationId },
            createdAt
          }))
          .sort(inOrder("createdAt"))
          .map(({ member }) => member)
      }),
    removeMember: (id, userId) =>
      Effect.sync(() => {
        const email = users.get(userId)?.email
        let removed: UserId | undefined
        for (const [place, each] of invitations) {
          if (each.workspaceId !== id || (each.id !== userId && each.email !== email)) continue
          invitations.delete(place)
          removed = userId
        }
        for (const [place, each] of members) {
          if (each.workspaceId !== id || (each.userId !== userId && each.invitationId !== userId)) continue
          members.delete(place)
          removed = each.userId
        }
        return Option.fromNullishOr(removed)
      }),
    removeMemberships: (user) =>
      Effect.sync(() => {
        for (const [place, each] of invitations) if (each.email === user.email) invitations.delete(place)
        for (const [place, each] of members) if (each.userId === user.id) members.delete(place)
      }),
    role: (id, userId) =>
      Effect.sync(() => {
        if (users.get(userId)?.disabledAt !== null) return Option.none()
        const place = memberKey(id, userId)
        const ended = members.has(place) ? undefined : endOf(id, userId)
        if (ended !== undefined) {
          const { createdAt, id: invitationId, role, workspaceId } = ended
          members.set(place, { workspaceId, userId, role, createdAt, invitationId })
        }
        return Option.fromNullishOr(members.get(place)?.role)
      }),
    lockMembers: (id, userIds) => Effect.sync(() => userIds.filter((userId) => isMember(tables, id, userId))),
    profile: (id, userId) =>
      Effect.sync(() => {
        const user = gone.has(userId) ? undefined : users.get(userId)
        return Option.map(Option.fromNullishOr(user), ({ email }) => ({
          email,
          isMember: isMember(tables, id, userId)
        }))
      })
  } satisfies Partial<WorkspaceRepo["Service"]>
}

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { invitations, makers, members, users, workspaces } = tables
    return guard(
      WorkspaceRepo.of({
        insert: (workspace, createdBy, most) =>
          Effect.suspend(() => {
            const maker = createdBy ?? ""
            const used = countAll(tables, "", maker, workspace.createdAt).workspacesOwned
            const room = { used, plan: planOf(tables, maker), most: createdBy === null ? undefined : most }
            return unlessFull("workspacesOwned", room, () => {
              workspaces.set(workspace.id, workspace)
              if (createdBy !== null) makers.set(workspace.id, createdBy)
            })
          }),
        find: (id) => Effect.sync(() => Option.fromNullishOr(workspaces.get(id))),
        setPlan: (id, plan, at) =>
          Effect.sync(() => {
            const workspace = workspaces.get(id)
            if (workspace === undefined) return false
            workspaces.set(id, { ...workspace, plan, updatedAt: at })
            return true
          }),
        ...ofMembers(tables),
        page: ({ userId, ...range }) =>
          Effect.sync(() =>
            pageOf(
              Array.from(workspaces.values()).filter(
                ({ id }) => userId === null || members.has(memberKey(id, userId))
              ),
              range
            )
          ),
        lockOwned: () => Effect.void,
        onlyOwned: onlyOwnedIn(tables),
        lock: (id) => Effect.sync(() => Option.fromNullishOr(workspaces.get(id))),
        list: (userId) =>
          Effect.sync(() =>
            Array.from(workspaces.values())
              .flatMap((workspace) => {
                const invited = invitations.get(memberKey(workspace.id, users.get(userId)?.email ?? ""))
                const found = members.get(memberKey(workspace.id, userId)) ?? invited
                return found === undefined ? [] : [{ ...workspace, role: found.role }]
              })
              .sort(inOrder("createdAt"))
          ),
        update: (id, changes, at) =>
          unlessGone(tables, workspaces.has(id) ? changes : {}, () => {
            const workspace = workspaces.get(id)
            if (workspace === undefined) return false
            workspaces.set(id, { ...workspace, ...changes, updatedAt: at })
            return true
          })
      })
    )
  })
)
