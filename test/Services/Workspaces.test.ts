import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { Forbidden, NotFound } from "../../src/Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { Projects } from "../../src/Services/Projects.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { Workspaces } from "../../src/Services/Workspaces.ts"
import { layerAtRest, layerOffline, makeTenant } from "../support/Service.ts"
import { makeTeam } from "../support/Team.ts"

const lastOwner = "a workspace must keep an owner"

describe("Workspaces", () => {
  it.effect("makes none for a caller who was deleted since it was let in", () =>
    Effect.gen(function* () {
      const [users, workspaces] = [yield* UserRepo, yield* Workspaces]
      const { user } = yield* makeTenant()
      yield* users.remove(user.id, yield* now)
      const error = yield* Effect.flip(workspaces.create(user, { name: "orphan" }))
      assert.strictEqual(error._tag, "Unauthenticated")
      const stored = yield* (yield* WorkspaceRepo).page({ userId: null, after: null, limit: 9 })
      assert.notInclude(
        stored.map(({ name }) => name),
        "orphan"
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("makes the caller the owner of a new one on the free plan", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger, workspace, workspaces } = yield* makeTeam
      assert.deepStrictEqual(workspace, {
        id,
        name: "Team",
        plan: "free",
        defaultProviderKeyId: null,
        createdAt: new Date(1_000),
        updatedAt: new Date(1_000),
        role: "owner"
      })
      assert.deepStrictEqual(yield* workspaces.get(owner, id), workspace)
      assert.deepStrictEqual(yield* workspaces.list(owner), [workspace])
      assert.deepStrictEqual(yield* workspaces.list(member), [{ ...workspace, role: "member" }])
      assert.deepStrictEqual(yield* workspaces.list(stranger), [])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is renamed by an owner", () =>
    Effect.gen(function* () {
      const { id, owner, workspace, workspaces } = yield* makeTeam
      yield* TestClock.setTime(2_000)
      assert.deepStrictEqual(yield* workspaces.update(owner, id, {}), workspace)
      const renamed = { ...workspace, name: "New", updatedAt: new Date(2_000) }
      assert.deepStrictEqual(yield* workspaces.update(owner, id, { name: "New" }), renamed)
      assert.deepStrictEqual(yield* workspaces.get(owner, id), renamed)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("keeps its last owner", () =>
    Effect.gen(function* () {
      const { id, member, owner, workspaces } = yield* makeTeam
      for (const refused of [
        workspaces.removeMember(owner, id, owner.id),
        workspaces.addMember(owner, id, { email: owner.email }),
        workspaces.addMember(owner, id, { email: owner.email, role: "member" })
      ]) {
        const error = yield* Effect.flip(refused)
        assert.deepStrictEqual([error instanceof Forbidden, error.error], [true, lastOwner])
      }
      yield* workspaces.addMember(owner, id, { email: owner.email, role: "owner" })
      yield* workspaces.addMember(owner, id, { email: member.email, role: "owner" })
      yield* workspaces.removeMember(owner, id, owner.id)
      assert.strictEqual((yield* workspaces.get(member, id)).role, "owner")
      const error = yield* Effect.flip(workspaces.removeMember(member, id, member.id))
      assert.strictEqual(error.error, lastOwner)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lets one of two owners become a member", () =>
    Effect.gen(function* () {
      const { id, member, owner, workspaces } = yield* makeTeam
      yield* workspaces.addMember(owner, id, { email: member.email, role: "owner" })
      yield* workspaces.addMember(member, id, { email: owner.email, role: "member" })
      const roles = (yield* workspaces.members(owner, id)).map(({ role, userId }) => [userId, role])
      assert.sameDeepMembers(roles, [
        [owner.id, "member"],
        [member.id, "owner"]
      ])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("removes a member, who then sees nothing of it", () =>
    Effect.gen(function* () {
      const { id, member, owner, workspaces } = yield* makeTeam
      yield* workspaces.removeMember(owner, id, member.id)
      assert.instanceOf(yield* Effect.flip(workspaces.get(member, id)), NotFound)
      assert.deepStrictEqual(yield* workspaces.list(member), [])
      assert.instanceOf(yield* Effect.flip((yield* Projects).list(member, id)), Forbidden)
      for (const gone of [member.id, "user_absent" as UserId]) {
        const error = yield* Effect.flip(workspaces.removeMember(owner, id, gone))
        assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "member not found"])
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lets anybody leave, but its last owner", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger, workspaces } = yield* makeTeam
      assert.instanceOf(yield* Effect.flip(workspaces.removeMember(stranger, id, stranger.id)), NotFound)
      yield* workspaces.removeMember(member, id, member.id)
      assert.instanceOf(yield* Effect.flip(workspaces.get(member, id)), NotFound)
      assert.instanceOf(yield* Effect.flip(workspaces.removeMember(member, id, member.id)), NotFound)
      const error = yield* Effect.flip(workspaces.removeMember(owner, id, owner.id))
      assert.strictEqual(error.error, lastOwner)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is changed by owners alone; a stranger can't tell it from none", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger, workspace, workspaces } = yield* makeTeam
      const absent = "ws_absent" as WorkspaceId
      const changes = (user: typeof owner, of: WorkspaceId) => [
        workspaces.update(user, of, { name: "Taken" }),
        workspaces.addMember(user, of, { email: user.email, role: "owner" }),
        workspaces.addMember(user, of, { email: "nobody@example.org" }),
        workspaces.removeMember(user, of, owner.id)
      ]
      for (const change of changes(member, id)) assert.instanceOf(yield* Effect.flip(change), Forbidden)
      for (const change of [
        ...changes(stranger, id),
        ...changes(owner, absent),
        workspaces.get(stranger, id),
        workspaces.members(stranger, id),
        workspaces.get(owner, absent)
      ]) {
        const error = yield* Effect.flip(change)
        assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "workspace not found"])
      }
      assert.deepStrictEqual(yield* workspaces.get(owner, id), workspace)
      assert.deepStrictEqual((yield* workspaces.members(member, id)).map(({ role }) => role).sort(), [
        "member",
        "owner"
      ])
    }).pipe(Effect.provide(layerOffline()))
  )
})
