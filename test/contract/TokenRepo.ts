import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TokenId, UserId } from "../../src/Schemas/Ids.ts"
import type { Token } from "../../src/Schemas/Token.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, newId, unicode } from "../support/Fixtures.ts"

const makeToken = Effect.fnUntraced(function* (given: Partial<Token> = {}) {
  const id = yield* newId<TokenId>("token")
  const token: Token = {
    id,
    userId: (yield* makeUser).id,
    name: unicode,
    hash: `hash of ${id}`,
    createdAt: at(),
    expiresAt: null,
    revokedAt: null,
    ...given
  }
  yield* (yield* TokenRepo).insert(token)
  return token
})

export const suite = (it: It) =>
  describe("TokenRepo", () => {
    it.effect("finds a token by its hash, and none by another", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const token = yield* makeToken()
        assert.deepStrictEqual(yield* tokens.findByHash(token.hash), Option.some(token))
        assert.deepStrictEqual(yield* tokens.findByHash(`${token.hash}!`), Option.none())
      })
    )

    it.effect("finds a token with its user", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const users = yield* UserRepo
        const token = yield* makeToken({ revokedAt: new Date(2) })
        const user = Option.getOrThrow(yield* users.find(token.userId))
        assert.deepStrictEqual(yield* tokens.findOwned(token.hash), Option.some({ token, user }))
        assert.deepStrictEqual(yield* tokens.findOwned(`${token.hash}!`), Option.none())
      })
    )

    it.effect("finds expired and revoked tokens too", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const token = yield* makeToken({ expiresAt: new Date(1), revokedAt: new Date(2) })
        assert.deepStrictEqual(yield* tokens.findByHash(token.hash), Option.some(token))
      })
    )

    it.effect("keeps one token per hash", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const token = yield* makeToken()
        const second = yield* Effect.exit(makeToken({ hash: token.hash }))
        assert.strictEqual(second._tag, "Failure")
        assert.deepStrictEqual(yield* tokens.findByHash(token.hash), Option.some(token))
      })
    )

    it.effect("revokes, and keeps the first moment of it", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const token = yield* makeToken()
        assert.isTrue(yield* tokens.revoke(token.userId, token.id, at(5)))
        assert.isTrue(yield* tokens.revoke(token.userId, token.id, at(9)))
        assert.deepStrictEqual(
          yield* tokens.findByHash(token.hash),
          Option.some({ ...token, revokedAt: at(5) })
        )
      })
    )

    it.effect("does not revoke the token of another user, nor one that is not there", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const token = yield* makeToken()
        assert.isFalse(yield* tokens.revoke((yield* makeUser).id, token.id, at()))
        assert.isFalse(yield* tokens.revoke(yield* newId<UserId>("user"), token.id, at()))
        assert.isFalse(yield* tokens.revoke(token.userId, yield* newId<TokenId>("token"), at()))
        assert.deepStrictEqual(yield* tokens.findByHash(token.hash), Option.some(token))
      })
    )

    it.effect("lists what works at the moment, to the millisecond, oldest first, of one user", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const userId = (yield* makeUser).id
        assert.deepStrictEqual(yield* tokens.list(userId, at()), [])
        const young = yield* makeToken({ userId, createdAt: at(2) })
        const expiring = yield* makeToken({ userId, createdAt: at(1), expiresAt: at(100) })
        const twin = yield* makeToken({ userId, createdAt: at(1) })
        const revoked = yield* makeToken({ userId })
        yield* tokens.revoke(userId, revoked.id, at(5))
        yield* makeToken()
        assert.deepStrictEqual(yield* tokens.list(userId, at(99)), [expiring, twin, young])
        assert.deepStrictEqual(yield* tokens.list(userId, at(100)), [twin, young])
        assert.deepStrictEqual(yield* tokens.list(yield* newId<UserId>("user"), at()), [])
      })
    )
  })
