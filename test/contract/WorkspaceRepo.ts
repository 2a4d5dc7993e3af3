import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId, newWorkspace, unicode } from "../support/Fixtures.ts"
import { readsWhileLocked } from "./Locking.ts"

export const suite = (it: It) =>
  describe("WorkspaceRepo", () => {
    it.effect("finds what was inserted, and none where there is none", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const workspace = yield* newWorkspace
        assert.deepStrictEqual(yield* workspaces.find(workspace.id), Option.none())
        yield* workspaces.insert(workspace, null)
        assert.deepStrictEqual(yield* workspaces.find(workspace.id), Option.some(workspace))
      })
    )

    it.effect("sets the plan of one workspace alone", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [changed, other] = [yield* newWorkspace, yield* newWorkspace]
        yield* workspaces.insert(changed, null)
        yield* workspaces.insert(other, null)
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

    it.effect("gives workspaces a page at a time, by id, of all or of one member", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const user = yield* makeUser
        const made = yield* Effect.replicateEffect(newWorkspace, 4)
        yield* Effect.forEach(made, (one) => workspaces.insert(one, null))
        const own = made.filter((_, index) => index !== 1)
        yield* Effect.forEach(own, ({ id }) => workspaces.addMember(id, user.id, "member", at()))
        const page = (range: { userId?: UserId; after?: WorkspaceId | null; limit?: number }) =>
          workspaces.page({ userId: null, after: null, limit: 1_000, ...range })
        assert.deepStrictEqual(yield* page({ userId: user.id }), own)
        const first = yield* page({ userId: user.id, limit: 2 })
        assert.deepStrictEqual(first, own.slice(0, 2))
        assert.deepStrictEqual(yield* page({ userId: user.id, after: first[1]?.id ?? null }), own.slice(2))
        assert.includeDeepMembers([...(yield* page({}))], made)
        assert.deepStrictEqual(yield* page({ userId: yield* newId<UserId>("user") }), [])
      })
    )

    it.effect("knows which workspaces have no other owner, and takes a user out of all", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const users = yield* UserRepo
        const workspaces = yield* WorkspaceRepo
        const [ann, bob] = [yield* makeUser, yield* makeUser]
        const made = yield* Effect.replicateEffect(newWorkspace, 4)
        yield* Effect.forEach(made, (one) => workspaces.insert(one, null))
        const [alone, withMember, shared, member] = made.map(({ id }) => id) as [
          WorkspaceId,
          WorkspaceId,
          WorkspaceId,
          WorkspaceId
        ]
        yield* workspaces.addMember(alone, ann.id, "owner", at())
        yield* workspaces.addMember(withMember, ann.id, "owner", at())
        yield* workspaces.addMember(withMember, bob.id, "member", at())
        yield* workspaces.addMember(shared, ann.id, "owner", at())
        yield* workspaces.addMember(shared, bob.id, "owner", at())
        yield* workspaces.addMember(member, ann.id, "member", at())
        const owned = (limit: number) =>
          Effect.map(workspaces.onlyOwned(ann.id, limit), (found) => found.map(({ id }) => id))
        assert.deepStrictEqual(yield* owned(9), [alone, withMember])
        assert.deepStrictEqual(yield* owned(1), [alone])
        assert.deepStrictEqual(yield* workspaces.onlyOwned(bob.id, 9), [])
        yield* transaction.atomically(workspaces.lockOwned(ann.id))
        yield* workspaces.removeMemberships(ann)
        assert.deepStrictEqual(yield* workspaces.list(ann.id), [])
        assert.strictEqual((yield* workspaces.list(bob.id)).length, 2)
        yield* users.remove(bob.id, at())
        assert.deepStrictEqual(yield* workspaces.members(shared), [])
      })
    )

    it.effect("lets nobody become a member who is not there, or is gone", () =>
      Effect.gen(function* () {
        const [users, workspaces] = [yield* UserRepo, yield* WorkspaceRepo]
        const id = yield* makeWorkspace
        const [ann, gone] = [yield* makeUser, yield* makeUser]
        assert.isTrue(yield* workspaces.addMember(id, ann.id, "owner", at()))
        assert.isTrue(yield* workspaces.addMember(id, ann.id, "owner", at()))
        yield* users.remove(gone.id, at())
        for (const userId of [gone.id, yield* newId<UserId>("user")]) {
          assert.isFalse(yield* workspaces.addMember(id, userId, "owner", at()))
          assert.deepStrictEqual(yield* workspaces.role(id, userId), Option.none())
          assert.deepStrictEqual(yield* workspaces.list(userId), [])
        }
        // Of an older version a membership may have stayed.
        const last = yield* makeUser
        yield* workspaces.addMember(id, last.id, "owner", at())
        assert.deepStrictEqual(yield* workspaces.onlyOwned(ann.id, 9), [])
        yield* users.remove(last.id, at())
        const owned = Effect.map(workspaces.onlyOwned(ann.id, 9), (found) => found.map((each) => each.id))
        assert.deepStrictEqual(yield* owned, [id])
        // Who is asked about may be gone already.
        yield* users.remove(ann.id, at())
        assert.deepStrictEqual(yield* owned, [id])
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

    it.effect("knows no role of a member that is disabled, until it is let in again", () =>
      Effect.gen(function* () {
        const [users, workspaces] = [yield* UserRepo, yield* WorkspaceRepo]
        const id = yield* makeWorkspace
        const user = yield* makeUser
        yield* workspaces.addMember(id, user.id, "owner", at())
        yield* users.setDisabled(user.id, at(1))
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
        yield* users.setDisabled(user.id, null)
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.some("owner"))
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

    it.effect("lists those of a member, oldest first, those of one moment by id, with the role", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [user, other] = [yield* makeUser, yield* makeUser]
        const insert = Effect.fnUntraced(function* (createdAt: Date) {
          const workspace = { ...(yield* newWorkspace), createdAt }
          yield* workspaces.insert(workspace, null)
          return workspace
        })
        const [young, old] = [yield* insert(at(2)), yield* insert(at(1))]
        const [twin, foreign] = [yield* insert(at(2)), yield* insert(at())]
        assert.deepStrictEqual(yield* workspaces.list(user.id), [])
        for (const [{ id }, role] of [
          [young, "owner"],
          [old, "member"],
          [twin, "owner"]
        ] as const) {
          yield* workspaces.addMember(id, user.id, role, at(7))
        }
        yield* workspaces.addMember(foreign.id, other.id, "owner", at(7))
        assert.deepStrictEqual(yield* workspaces.list(user.id), [
          { ...old, role: "member" as const },
          { ...young, role: "owner" as const },
          { ...twin, role: "owner" as const }
        ])
      })
    )

    it.effect("renames one workspace alone, and says false where there is none", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [changed, other] = [yield* newWorkspace, yield* newWorkspace]
        yield* workspaces.insert(changed, null)
        yield* workspaces.insert(other, null)
        assert.isTrue(
          yield* workspaces.update(changed.id, { name: `${unicode}!`, defaultProviderKeyId: null }, at(7))
        )
        assert.deepStrictEqual(
          yield* workspaces.find(changed.id),
          Option.some({ ...changed, name: `${unicode}!`, updatedAt: at(7) })
        )
        assert.deepStrictEqual(yield* workspaces.find(other.id), Option.some(other))
        assert.isFalse(
          yield* workspaces.update(
            yield* newId<WorkspaceId>("workspace"),
            { name: "x", defaultProviderKeyId: null },
            at()
          )
        )
      })
    )

    it.effect("knows its members, oldest first, each since the first time it was added", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const id = yield* makeWorkspace
        const [young, old, twin] = [yield* makeUser, yield* makeUser, yield* makeUser]
        assert.deepStrictEqual(yield* workspaces.members(id), [])
        yield* workspaces.addMember(id, twin.id, "member", at(2))
        yield* workspaces.addMember(id, young.id, "member", at(2))
        yield* workspaces.addMember(id, old.id, "member", at(1))
        yield* workspaces.addMember(yield* makeWorkspace, young.id, "owner", at(3))
        yield* workspaces.addMember(id, old.id, "owner", at(9))
        const joined = { isPending: false, invitationId: null }
        assert.deepStrictEqual(yield* workspaces.members(id), [
          { ...joined, userId: old.id, email: old.email, role: "owner", createdAt: at(1) },
          { ...joined, userId: young.id, email: young.email, role: "member", createdAt: at(2) },
          { ...joined, userId: twin.id, email: twin.email, role: "member", createdAt: at(2) }
        ])
      })
    )

    it.effect("removes a member from one workspace alone, once", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [id, elsewhere] = [yield* makeWorkspace, yield* makeWorkspace]
        const [user, other] = [yield* makeUser, yield* makeUser]
        yield* workspaces.addMember(id, user.id, "owner", at())
        yield* workspaces.addMember(id, other.id, "member", at())
        yield* workspaces.addMember(elsewhere, user.id, "member", at())
        assert.deepStrictEqual(yield* workspaces.removeMember(id, user.id), Option.some(user.id))
        const nowhere = yield* newId<WorkspaceId>("workspace")
        for (const other of [id, nowhere]) {
          assert.deepStrictEqual(yield* workspaces.removeMember(other, user.id), Option.none())
        }
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
        assert.deepStrictEqual(yield* workspaces.role(id, other.id), Option.some("member"))
        assert.deepStrictEqual(yield* workspaces.role(elsewhere, user.id), Option.some("member"))
      })
    )

    it.effect("lets nobody else change a workspace that a transaction has locked", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const workspace = yield* newWorkspace
        yield* workspaces.insert(workspace, null)
        const seen = yield* readsWhileLocked(
          workspaces.lock(workspace.id),
          workspaces.setPlan(workspace.id, "pro", at(9))
        )
        assert.deepStrictEqual(
          seen,
          seen.map(() => Option.some(workspace))
        )
        const changed = Option.some({ ...workspace, plan: "pro" as const, updatedAt: at(9) })
        assert.deepStrictEqual(yield* workspaces.lock(workspace.id), changed)
        assert.deepStrictEqual(yield* workspaces.lock(yield* newId<WorkspaceId>("workspace")), Option.none())
      })
    )

    it.effect("lets one transaction at a time lock a workspace", () =>
      Effect.gen(function* () {
        const [transaction, workspaces] = [yield* Transaction, yield* WorkspaceRepo]
        const id = yield* makeWorkspace
        const [user, other] = [yield* makeUser, yield* makeUser]
        // Each leaves unless it is alone: without the lock all of them see two and leave.
        const leave = (userId: UserId) =>
          transaction.atomically(
            Effect.gen(function* () {
              yield* workspaces.lock(id)
              if ((yield* workspaces.members(id)).length > 1) yield* workspaces.removeMember(id, userId)
            })
          )
        for (let round = 0; round < 10; round++) {
          yield* workspaces.addMember(id, user.id, "owner", at())
          yield* workspaces.addMember(id, other.id, "owner", at())
          yield* Effect.all([leave(user.id), leave(other.id)], { concurrency: "unbounded" })
          assert.strictEqual((yield* workspaces.members(id)).length, 1)
        }
      })
    )
  })
