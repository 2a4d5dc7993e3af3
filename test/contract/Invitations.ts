import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId } from "../../src/Schemas/Ids.ts"
import { type Email, emailOfGone } from "../../src/Schemas/User.ts"
import type { Invitation } from "../../src/Schemas/Workspace.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId, newUser } from "../support/Fixtures.ts"

const newInvitation = Effect.fnUntraced(function* (email: Email) {
  const invitation: Invitation = { id: yield* newId<UserId>("user"), email, role: "member", createdAt: at(3) }
  return invitation
})

export const suite = (it: It) =>
  describe("Invitations of a WorkspaceRepo", () => {
    it.effect("knows who is invited by the id of the invitation, whether or not there is such a user", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [id, elsewhere] = [yield* makeWorkspace, yield* makeWorkspace]
        const user = yield* makeUser
        const known = yield* newInvitation(user.email)
        const unknown = yield* newInvitation((yield* newUser).email)
        for (const each of [known, unknown]) yield* workspaces.invite(id, each)
        yield* workspaces.invite(elsewhere, { ...(yield* newInvitation(user.email)), role: "owner" })
        const shown = (invitation: Invitation) => ({
          userId: invitation.id,
          email: invitation.email,
          role: invitation.role,
          isPending: true,
          createdAt: at(3),
          invitationId: invitation.id
        })
        assert.deepStrictEqual(yield* workspaces.members(id), [shown(known), shown(unknown)])
        // Again: the role alone.
        yield* workspaces.invite(id, {
          ...(yield* newInvitation(user.email)),
          role: "owner",
          createdAt: at(9)
        })
        const owner = { ...shown(known), role: "owner" as const }
        assert.deepStrictEqual(yield* workspaces.members(id), [owner, shown(unknown)])
        assert.deepStrictEqual(yield* workspaces.onlyOwned(user.id, 9), [])
        assert.deepStrictEqual(yield* workspaces.page({ userId: user.id, after: null, limit: 9 }), [])
      })
    )

    it.effect("makes who is invited a member when it is asked for the role, and not before", () =>
      Effect.gen(function* () {
        const [users, workspaces] = [yield* UserRepo, yield* WorkspaceRepo]
        const id = yield* makeWorkspace
        const [user, other] = [yield* newUser, yield* makeUser]
        const invitation = { ...(yield* newInvitation(user.email)), role: "owner" as const }
        yield* workspaces.invite(id, invitation)
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
        assert.deepStrictEqual(yield* workspaces.role(id, other.id), Option.none())
        // The user is made behind the invitation.
        yield* users.insert(user)
        assert.deepStrictEqual(
          (yield* workspaces.list(user.id)).map((each) => [each.id, each.role]),
          [[id, "owner"]]
        )
        const profile = { email: user.email, isMember: false }
        assert.deepStrictEqual(yield* workspaces.profile(id, user.id), Option.some(profile))
        assert.isTrue((yield* workspaces.members(id))[0]?.isPending)
        const roles = yield* Effect.all(
          Array.from({ length: 20 }, () => workspaces.role(id, user.id)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          roles,
          roles.map(() => Option.some("owner" as const))
        )
        assert.deepStrictEqual(yield* workspaces.members(id), [
          {
            userId: user.id,
            email: user.email,
            role: "owner",
            isPending: false,
            createdAt: at(3),
            invitationId: invitation.id
          }
        ])
        assert.strictEqual((yield* workspaces.list(user.id)).length, 1)
        assert.deepStrictEqual(
          yield* workspaces.profile(id, user.id),
          Option.some({ ...profile, isMember: true })
        )
      })
    )

    it.effect("lets nobody in by an invitation who is disabled, or is gone", () =>
      Effect.gen(function* () {
        const [users, workspaces] = [yield* UserRepo, yield* WorkspaceRepo]
        const id = yield* makeWorkspace
        const user = yield* makeUser
        yield* workspaces.invite(id, yield* newInvitation(user.email))
        yield* users.setDisabled(user.id, at())
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
        assert.isTrue((yield* workspaces.members(id))[0]?.isPending)
        yield* users.setDisabled(user.id, null)
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.some("member"))
        yield* users.remove(user.id, at())
        yield* workspaces.invite(id, yield* newInvitation(emailOfGone(user.id)))
        yield* workspaces.removeMember(id, user.id)
        assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
        assert.deepStrictEqual(yield* workspaces.profile(id, user.id), Option.none())
        assert.deepStrictEqual(yield* workspaces.profile(id, yield* newId<UserId>("user")), Option.none())
      })
    )

    it.effect("ends an invitation when its user is added", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const id = yield* makeWorkspace
        const user = yield* makeUser
        const invitation = yield* newInvitation(user.email)
        yield* workspaces.invite(id, invitation)
        yield* workspaces.addMember(id, user.id, "owner", at(9))
        const member = { userId: user.id, email: user.email, isPending: false, createdAt: at(3) }
        const joined = { ...member, role: "owner" as const, invitationId: invitation.id }
        assert.deepStrictEqual(yield* workspaces.members(id), [joined])
        yield* workspaces.invite(id, yield* newInvitation(user.email))
        yield* workspaces.addMember(id, user.id, "member", at(9))
        assert.deepStrictEqual(yield* workspaces.members(id), [{ ...joined, role: "member" }])
      })
    )

    it.effect("removes by the id of the invitation or of the user, before and after it has been there", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [id, elsewhere] = [yield* makeWorkspace, yield* makeWorkspace]
        const [user, other] = [yield* makeUser, yield* makeUser]
        yield* workspaces.invite(elsewhere, yield* newInvitation(user.email))
        yield* workspaces.invite(id, yield* newInvitation(other.email))
        for (const isThere of [false, true]) {
          for (const by of ["invitation", "user"]) {
            const invitation = yield* newInvitation(user.email)
            yield* workspaces.invite(id, invitation)
            if (isThere) yield* workspaces.role(id, user.id)
            const given = by === "user" ? user.id : invitation.id
            const removed = isThere ? user.id : given
            assert.deepStrictEqual(yield* workspaces.removeMember(id, given), Option.some(removed))
            assert.deepStrictEqual(yield* workspaces.removeMember(id, given), Option.none())
            assert.deepStrictEqual(yield* workspaces.role(id, user.id), Option.none())
          }
        }
        assert.strictEqual((yield* workspaces.members(id)).length, 1)
        assert.strictEqual((yield* workspaces.members(elsewhere)).length, 1)
        yield* workspaces.removeMemberships(user)
        assert.deepStrictEqual(yield* workspaces.members(elsewhere), [])
        assert.strictEqual((yield* workspaces.members(id)).length, 1)
      })
    )
  })
