import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import { unlessGone } from "./Named.ts"
import { inOrder, pageOf } from "./Order.ts"
import { ownedBy, planOf, unlessFull } from "./Quotas.ts"
import { Store, type Tables } from "./Store.ts"

const memberKey = (workspaceId: string, userId: string) => `${workspaceId} ${userId}`

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

const addMemberIn =
  (tables: Tables): WorkspaceRepo["Service"]["addMember"] =>
  (id, userId, role, at, most) =>
    Effect.suspend(() => {
      const { gone, members, users } = tables
      if (!users.has(userId) || gone.has(userId)) return Effect.succeed(false)
      const place = memberKey(id, userId)
      const known = members.get(place)
      const more = Number(role === "owner" && known?.role !== "owner")
      const room = { used: ownedBy(tables, userId).length, more, plan: planOf(tables, userId), most }
      return unlessFull("workspacesOwned", room, () => {
        members.set(place, { workspaceId: id, userId, role, createdAt: known?.createdAt ?? at })
        return true
      })
    })

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { gone, makers, members, users, workspaces } = tables
    return guard(
      WorkspaceRepo.of({
        insert: (workspace, createdBy) =>
          Effect.sync(() => {
            workspaces.set(workspace.id, workspace)
            if (createdBy !== null) makers.set(workspace.id, createdBy)
          }),
        find: (id) => Effect.sync(() => Option.fromNullishOr(workspaces.get(id))),
        setPlan: (id, plan, at) =>
          Effect.sync(() => {
            const workspace = workspaces.get(id)
            if (workspace === undefined) return false
            workspaces.set(id, { ...workspace, plan, updatedAt: at })
            return true
          }),
        addMember: addMemberIn(tables),
        members: (id) =>
          Effect.sync(() =>
            Array.from(members.values())
              .filter((member) => member.workspaceId === id && !gone.has(member.userId))
              .map(({ createdAt, role, userId }) => ({
                id: userId,
                member: { userId, email: users.get(userId)?.email ?? "", role, createdAt },
                createdAt
              }))
              .sort(inOrder("createdAt"))
              .map(({ member }) => member)
          ),
        removeMember: (id, userId) => Effect.sync(() => members.delete(memberKey(id, userId))),
        removeMemberships: (userId) =>
          Effect.sync(() => {
            for (const [place, member] of members) if (member.userId === userId) members.delete(place)
          }),
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
                const member = members.get(memberKey(workspace.id, userId))
                return member === undefined ? [] : [{ ...workspace, role: member.role }]
              })
              .sort(inOrder("createdAt"))
          ),
        update: (id, changes, at) =>
          unlessGone(tables, workspaces.has(id) ? changes : {}, () => {
            const workspace = workspaces.get(id)
            if (workspace === undefined) return false
            workspaces.set(id, { ...workspace, ...changes, updatedAt: at })
            return true
          }),
        role: (id, userId) =>
          Effect.sync(() => {
            const isDisabled = (users.get(userId)?.disabledAt ?? null) !== null
            return isDisabled ? Option.none() : Option.fromNullishOr(members.get(memberKey(id, userId))?.role)
          })
      })
    )
  })
)
