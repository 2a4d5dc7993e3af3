import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import { Forbidden, InvalidInput, NotFound, RateLimited } from "../../src/Schemas/Errors.ts"
import type { UserId } from "../../src/Schemas/Ids.ts"
import type { Email, User } from "../../src/Schemas/User.ts"
import { mostMembers } from "../../src/Schemas/Workspace.ts"
import { Accounts } from "../../src/Services/Accounts.ts"
import { Projects } from "../../src/Services/Projects.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { invitationRate } from "../../src/Services/Workspaces/Members.ts"
import { makeUser } from "../support/Fixtures.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeTeam } from "../support/Team.ts"

const emails = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `${name}${index}@example.org` as Email)

describe("members who are added by e-mail", () => {
  it.effect("are told and shown alike, whether or not there is such a user", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger, workspaces } = yield* makeTeam
      yield* TestClock.setTime(2_000)
      const known = yield* workspaces.addMember(owner, id, { email: ` ${stranger.email.toUpperCase()} ` })
      const unknown = yield* workspaces.addMember(owner, id, { email: "nobody@example.org" })
      for (const [added, email] of [
        [known, stranger.email],
        [unknown, "nobody@example.org"]
      ] as const) {
        const { userId } = added
        const createdAt = new Date(2_000)
        assert.deepStrictEqual(added, { userId, email, role: "member", isPending: true, createdAt })
        assert.match(userId, /^user_/)
      }
      // An id begins with the time at which it was made.
      const timeOf = ({ userId }: { readonly userId: UserId }) => userId.slice(0, "user_".length + 10)
      assert.strictEqual(timeOf(known), timeOf(unknown))
      assert.notStrictEqual(known.userId, stranger.id)
      for (const user of [owner, member]) {
        const listed = yield* workspaces.members(user, id)
        assert.deepStrictEqual(listed.slice(2), [known, unknown])
      }
      // And again, and in another workspace of the caller.
      const other = yield* workspaces.create(owner, { name: "Other" })
      for (const { email } of [known, unknown]) {
        const again = yield* workspaces.addMember(owner, id, { email, role: "owner" })
        assert.deepInclude(again, { isPending: true, role: "owner" })
        assert.isTrue((yield* workspaces.addMember(owner, other.id, { email })).isPending)
      }
      assert.deepStrictEqual(
        (yield* workspaces.members(owner, id)).slice(2).map(({ userId }) => userId),
        [known.userId, unknown.userId]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("may use the workspace at once, and are shown as themselves from then on", () =>
    Effect.gen(function* () {
      const { id, owner, stranger, workspace, workspaces } = yield* makeTeam
      const added = yield* workspaces.addMember(owner, id, { email: stranger.email, role: "owner" })
      yield* TestClock.setTime(2_000)
      // To list one's workspaces is not to be there.
      assert.deepStrictEqual(yield* workspaces.list(stranger), [{ ...workspace, role: "owner" }])
      assert.isTrue((yield* workspaces.members(owner, id)).at(-1)?.isPending)
      yield* (yield* Projects).create(stranger, { workspaceId: id, name: "P" })
      const shown = (yield* workspaces.members(owner, id)).find(({ email }) => email === stranger.email)
      assert.deepStrictEqual(shown, { ...added, userId: stranger.id, isPending: false })
      assert.deepStrictEqual(yield* workspaces.list(stranger), [{ ...workspace, role: "owner" }])
      yield* TestClock.setTime(3_000)
      const again = yield* workspaces.addMember(owner, id, { email: stranger.email, role: "member" })
      assert.deepStrictEqual(again, { ...shown, role: "member" })
      assert.strictEqual((yield* workspaces.get(stranger, id)).role, "member")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("may be users who are made later", () =>
    Effect.gen(function* () {
      const { id, owner, workspaces } = yield* makeTeam
      const email = "late@example.org"
      yield* workspaces.addMember(owner, id, { email })
      const execute = (yield* Accounts).execute
      // For operators there is no such user until then.
      assert.strictEqual(
        (yield* Effect.flip(execute({ command: "user disable", email }))).error,
        "there is no user late@example.org"
      )
      const made = yield* execute({ command: "user create", email, workspace: null })
      const userId = "userId" in made ? made.userId : assert.fail()
      const late: User = { id: userId, email: email as Email, createdAt: new Date(0) }
      assert.strictEqual((yield* workspaces.get(late, id)).role, "member")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("are taken out by the id that was shown, before and after, or by their own", () =>
    Effect.gen(function* () {
      const { id, owner, stranger, workspaces } = yield* makeTeam
      for (const isThere of [false, true]) {
        for (const byOwn of [false, true]) {
          const { userId } = yield* workspaces.addMember(owner, id, { email: stranger.email })
          if (isThere) yield* workspaces.get(stranger, id)
          const given = byOwn ? stranger.id : userId
          yield* workspaces.removeMember(owner, id, given)
          assert.instanceOf(yield* Effect.flip(workspaces.get(stranger, id)), NotFound)
          const error = yield* Effect.flip(workspaces.removeMember(owner, id, given))
          assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "member not found"])
        }
      }
      yield* workspaces.addMember(owner, id, { email: stranger.email })
      yield* workspaces.removeMember(stranger, id, stranger.id)
      assert.strictEqual((yield* workspaces.members(owner, id)).length, 2)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("are no owners that a workspace could be left to, until they have been there", () =>
    Effect.gen(function* () {
      const { id, owner, stranger, workspaces } = yield* makeTeam
      const { userId } = yield* workspaces.addMember(owner, id, { email: stranger.email, role: "owner" })
      yield* workspaces.addMember(owner, id, { email: "nobody@example.org", role: "owner" })
      for (const refused of [
        workspaces.removeMember(owner, id, owner.id),
        workspaces.addMember(owner, id, { email: owner.email, role: "member" })
      ]) {
        const error = yield* Effect.flip(refused)
        assert.deepStrictEqual(
          [error instanceof Forbidden, error.error],
          [true, "a workspace must keep an owner"]
        )
      }
      yield* workspaces.get(stranger, id)
      yield* workspaces.removeMember(owner, id, owner.id)
      // The id of the invitation is no way around it.
      const error = yield* Effect.flip(workspaces.removeMember(stranger, id, userId))
      assert.strictEqual(error.error, "a workspace must keep an owner")
      assert.strictEqual((yield* workspaces.get(stranger, id)).role, "owner")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("have something that may be an e-mail", () =>
    Effect.gen(function* () {
      const { id, owner, workspaces } = yield* makeTeam
      for (const email of [
        "nobody",
        "a@b c",
        "@example.org",
        "   ",
        `${"a".repeat(250)}@b.org`,
        "a\u0000@b.org"
      ]) {
        const error = yield* Effect.flip(workspaces.addMember(owner, id, { email }))
        assert.deepStrictEqual(
          [error instanceof InvalidInput, error.error],
          [true, "email: must be an e-mail address"]
        )
      }
      assert.strictEqual((yield* workspaces.members(owner, id)).length, 2)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("are forgotten with the user", () =>
    Effect.gen(function* () {
      const { id, owner, stranger, workspaces } = yield* makeTeam
      yield* workspaces.addMember(owner, id, { email: stranger.email })
      yield* (yield* Accounts).execute({ command: "user delete", email: stranger.email })
      assert.strictEqual((yield* workspaces.members(owner, id)).length, 2)
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("the members of a workspace", () => {
  it.effect("are shown to members alone, without those who are gone", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger, workspaces } = yield* makeTeam
      const [users, disabled, gone] = [yield* UserRepo, yield* makeUser, yield* makeUser]
      const repo = yield* WorkspaceRepo
      for (const user of [disabled, gone]) yield* repo.addMember(id, user.id, "member", new Date(2_000))
      yield* users.setDisabled(disabled.id, new Date())
      yield* users.remove(gone.id, new Date())
      for (const user of [owner, member]) {
        const shown = (yield* workspaces.members(user, id)).map(({ email }) => email)
        assert.deepStrictEqual(shown, [owner.email, member.email, disabled.email])
      }
      for (const user of [stranger, disabled, gone]) {
        const error = yield* Effect.flip(workspaces.members(user, id))
        assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "workspace not found"])
      }
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("are as many as a workspace may have, with those who are invited", () =>
    Effect.gen(function* () {
      const { id, member, owner, workspaces } = yield* makeTeam
      const repo = yield* WorkspaceRepo
      const createdAt = new Date(5_000)
      for (const email of emails(mostMembers - 3, "p")) {
        yield* repo.invite(id, { id: `user_${email}` as UserId, email, role: "member", createdAt })
      }
      yield* workspaces.addMember(owner, id, { email: "last@example.org" })
      const error = yield* Effect.flip(workspaces.addMember(owner, id, { email: "more@example.org" }))
      assert.deepStrictEqual(
        [error instanceof PlanLimitExceeded, error.error],
        [true, "members: a workspace has at most 1000, with those who are invited"]
      )
      assert.strictEqual((yield* workspaces.members(owner, id)).length, mostMembers)
      // Those who are there get other roles.
      for (const email of [member.email, "last@example.org"]) {
        assert.strictEqual((yield* workspaces.addMember(owner, id, { email, role: "owner" })).role, "owner")
      }
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("are invited by a user so many at once, and then one a minute", () =>
    Effect.gen(function* () {
      const { id, member, owner, workspaces } = yield* makeTeam
      const other = yield* workspaces.create(member, { name: "Other" })
      // The team has taken one.
      for (const email of emails(invitationRate.atOnce - 1, "q"))
        yield* workspaces.addMember(owner, id, { email })
      const more = (email: string) => workspaces.addMember(owner, id, { email })
      const error = yield* Effect.flip(more("more@example.org"))
      assert.instanceOf(error, RateLimited)
      assert.match(error.error, /^email: .* 60 at once, and then 1 in a minute; try again in 60 s$/)
      assert.strictEqual((yield* workspaces.members(owner, id)).length, invitationRate.atOnce + 1)
      // Roles of members are no invitations, and others are not kept from theirs.
      yield* workspaces.addMember(owner, id, { email: member.email, role: "owner" })
      yield* workspaces.addMember(member, other.id, { email: "more@example.org" })
      yield* TestClock.adjust("59 seconds")
      assert.instanceOf(yield* Effect.flip(more("more@example.org")), RateLimited)
      yield* TestClock.adjust("1 second")
      yield* more("more@example.org")
      assert.instanceOf(yield* Effect.flip(more("more@example.org")), RateLimited)
      yield* TestClock.adjust("2 hours")
      for (const email of emails(invitationRate.atOnce, "r")) yield* more(email)
      assert.instanceOf(yield* Effect.flip(more("s@example.org")), RateLimited)
    }).pipe(Effect.provide(layerAtRest()))
  )
})
