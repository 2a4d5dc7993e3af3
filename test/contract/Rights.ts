import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TokenId } from "../../src/Schemas/Ids.ts"
import type { Token } from "../../src/Schemas/Token.ts"
import { Rights } from "../../src/Services/Rights.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId } from "../support/Fixtures.ts"

/** A member of a workspace with a token and one that it made, whose rights were looked at. */
const seen = Effect.gen(function* () {
  const [rights, tokens, workspaces] = [yield* Rights, yield* TokenRepo, yield* WorkspaceRepo]
  const user = yield* makeUser
  const workspace = yield* makeWorkspace
  yield* workspaces.addMember(workspace, user.id, "member", at())
  const make = Effect.fnUntraced(function* (parentId: TokenId | null) {
    const id = yield* newId<TokenId>("token")
    const token: Token = {
      ...{ id, userId: user.id, parentId, name: "a token", hash: `hash of ${id}` },
      ...{ createdAt: at(), expiresAt: null, revokedAt: null }
    }
    assert.isTrue(yield* tokens.insert(token))
    return token
  })
  const token = yield* make(null)
  const made = yield* make(token.id)
  const told = Effect.gen(function* () {
    const owned = [yield* rights.owned(token.hash), yield* rights.owned(made.hash)]
    return {
      tokens: owned.map((found) => Option.isSome(found) && found.value.token.revokedAt === null),
      role: Option.getOrNull(yield* rights.role(workspace, user.id))
    }
  })
  assert.deepStrictEqual(yield* told, { tokens: [true, true], role: "member" })
  return { ...{ made, rights, token, tokens, told, user, users: yield* UserRepo }, workspace, workspaces }
})

export const suite = (it: It) =>
  describe("Rights", () => {
    it.effect("tell at once of a token that is revoked, with what it made", () =>
      Effect.gen(function* () {
        const { told, token, tokens, user } = yield* seen
        yield* tokens.revoke(user.id, token.id, at(1))
        assert.deepStrictEqual((yield* told).tokens, [false, false])
      })
    )

    it.effect("tell at once of tokens that are forgotten", () =>
      Effect.gen(function* () {
        const { told, tokens, user } = yield* seen
        yield* tokens.removeOf(user.id)
        assert.deepStrictEqual((yield* told).tokens, [false, false])
      })
    )

    it.effect("tell at once of a user who is disabled, let in again, or removed", () =>
      Effect.gen(function* () {
        const { told, user, users } = yield* seen
        yield* users.setDisabled(user.id, at(1))
        assert.deepStrictEqual(yield* told, { tokens: [false, false], role: null })
        yield* users.setDisabled(user.id, null)
        assert.deepStrictEqual(yield* told, { tokens: [true, true], role: "member" })
        yield* users.remove(user.id, at(2))
        assert.deepStrictEqual(yield* told, { tokens: [false, false], role: null })
      })
    )

    it.effect("tell at once of another role, and of one who is out", () =>
      Effect.gen(function* () {
        const { told, user, workspace, workspaces } = yield* seen
        yield* workspaces.addMember(workspace, user.id, "owner", at(1))
        assert.strictEqual((yield* told).role, "owner")
        yield* workspaces.removeMember(workspace, user.id)
        assert.strictEqual((yield* told).role, null)
        yield* workspaces.addMember(workspace, user.id, "member", at(2))
        assert.strictEqual((yield* told).role, "member")
        yield* workspaces.removeMemberships(user)
        assert.strictEqual((yield* told).role, null)
      })
    )

    it.effect("tell of one who was invited under another id, and is taken out by it", () =>
      Effect.gen(function* () {
        const { rights, user, workspaces } = yield* seen
        const [workspace, id] = [yield* makeWorkspace, yield* newId<typeof user.id>("user")]
        yield* workspaces.invite(workspace, { id, email: user.email, role: "member", createdAt: at() })
        assert.deepStrictEqual(yield* rights.role(workspace, user.id), Option.some("member"))
        yield* workspaces.removeMember(workspace, id)
        assert.deepStrictEqual(yield* rights.role(workspace, user.id), Option.none())
      })
    )

    it.effect("are asked for within a transaction, and known outside when it is over", () =>
      Effect.gen(function* () {
        const { rights, told, user, workspace, workspaces } = yield* seen
        const { atomically } = yield* Transaction
        const within = yield* atomically(
          Effect.gen(function* () {
            yield* workspaces.removeMember(workspace, user.id)
            return yield* rights.role(workspace, user.id)
          })
        )
        assert.deepStrictEqual(within, Option.none())
        assert.strictEqual((yield* told).role, null)
      })
    )

    it.effect("stay what they were behind a transaction that is rolled back", () =>
      Effect.gen(function* () {
        const { rights, told, user, workspace, workspaces } = yield* seen
        const { atomically } = yield* Transaction
        const change = Effect.gen(function* () {
          yield* workspaces.addMember(workspace, user.id, "owner", at(1))
          assert.deepStrictEqual(yield* rights.role(workspace, user.id), Option.some("owner"))
          return yield* Effect.fail("no" as const)
        })
        assert.strictEqual(yield* Effect.flip(atomically(change)), "no")
        assert.strictEqual((yield* told).role, "member")
      })
    )
  })
