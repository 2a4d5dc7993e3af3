import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import { Store } from "./Store.ts"

const memberKey = (workspaceId: string, userId: string) => `${workspaceId} ${userId}`

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { members, workspaces } = tables
    return guard(
      WorkspaceRepo.of({
        insert: (workspace) => Effect.sync(() => void workspaces.set(workspace.id, workspace)),
        find: (id) => Effect.sync(() => Option.fromNullishOr(workspaces.get(id))),
        setPlan: (id, plan, at) =>
          Effect.sync(() => {
            const workspace = workspaces.get(id)
            if (workspace === undefined) return false
            workspaces.set(id, { ...workspace, plan, updatedAt: at })
            return true
          }),
        addMember: (id, userId, role) => Effect.sync(() => void members.set(memberKey(id, userId), role)),
        role: (id, userId) => Effect.sync(() => Option.fromNullishOr(members.get(memberKey(id, userId))))
      })
    )
  })
)
