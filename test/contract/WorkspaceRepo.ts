import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId, newWorkspace } from "../support/Fixtures.ts"

export const suite = (it: It) =>
  describe("WorkspaceRepo", () => {
    it.effect("finds what was inserted, and none where there is none", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const workspace = yield* newWorkspace
        assert.deepStrictEqual(yield* workspaces.find(workspace.id), Option.none())
        yield* workspaces.insert(workspace)
        assert.deepStrictEqual(yield* workspaces.find(workspace.id), Option.some(workspace))
      })
    )

    it.effect("sets the plan of one workspace alone", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [changed, other] = [yield* newWorkspace, yield* newWorkspace]
        yield* workspaces.insert(changed)
        yield* workspaces.insert(other)
        assert.isTrue(yield* workspaces.setPlan(changed.id, "pro", at(7)))
        assert.deepStrictEqual(
          yield* workspaces.find(changed.id),
          Option.some({ ...changed, plan: "pro" as const, updatedAt: at(7) })
        )
        assert.deepStrictEqual(yield* workspaces.find(other.id), Option.some(other))
      })
    )

    it.effect("says false when there is no workspace to set the plan of", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        assert.isFalse(yield* workspaces.setPlan(yield* newId<WorkspaceId>("workspace"), "pro", at()))
      })
    )

    it.effect("knows the role of a member, and adding again sets it", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const id = yield* makeWorkspace
        const user = yield* makeUser
        yield* workspaces.addMember(id, user.id, "member", at())
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.some("member"))
        yield* workspaces.addMember(id, user.id, "owner", at(1))
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.some("owner"))
      })
    )

    it.effect("adds one member once, however many do it at the same time", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const id = yield* makeWorkspace
        const user = yield* makeUser
        yield* Effect.all(
          Array.from({ length: 20 }, () => workspaces.addMember(id, user.id, "member", at())),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.some("member"))
      })
    )

    it.effect("knows no role of a stranger, of a member elsewhere, or where there is no workspace", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [id, elsewhere] = [yield* makeWorkspace, yield* makeWorkspace]
        const user = yield* makeUser
        yield* workspaces.addMember(elsewhere, user.id, "owner", at())
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
        assert.deepStrictEqual(yield* workspaces.role(id, yield* newId<UserId>("user")), Option.none())
        const nowhere = yield* newId<WorkspaceId>("workspace")
        assert.deepStrictEqual(yield* workspaces.role(nowhere, user.id), Option.none())
      })
    )
  })
