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

    it.effect("finds no token with a user who is disabled, until the user is let in again", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const users = yield* UserRepo
        const [token, other] = [yield* makeToken(), yield* makeToken()]
        yield* users.setDisabled(token.userId, at())
        assert.deepStrictEqual(yield* tokens.findOwned(token.hash), Option.none())
        assert.isTrue(Option.isSome(yield* tokens.findOwned(other.hash)))
        yield* users.setDisabled(token.userId, null)
        assert.isTrue(Option.isSome(yield* tokens.findOwned(token.hash)))
        yield* users.remove(token.userId, at())
        assert.deepStrictEqual(yield* tokens.findOwned(token.hash), Option.none())
      })
    )

    it.effect("gives what works at the moment a page at a time, by id, of all or of one user", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const user = yield* makeUser
        const userId = user.id
        const mine = yield* Effect.all([
          makeToken({ userId, createdAt: at(9) }),
          makeToken({ userId, expiresAt: at(100) }),
          makeToken({ userId }),
          makeToken({ userId })
        ])
        const revoked = yield* makeToken({ userId, revokedAt: at(1) })
        const other = yield* makeToken()
        const shown = mine.map(({ createdAt, expiresAt, id, name }) => ({
          id,
          name,
          createdAt,
          expiresAt,
          userId,
          email: user.email
        }))
        const page = (range: { after?: TokenId; limit?: number; userId?: UserId; now?: Date }) =>
          tokens.page({ userId: null, after: null, limit: 1_000, now: at(99), ...range })
        assert.deepStrictEqual(yield* page({ userId }), shown)
        assert.deepStrictEqual(yield* page({ userId, limit: 2 }), shown.slice(0, 2))
        assert.deepStrictEqual(
          yield* page({ userId, limit: 2, after: mine[1].id, now: at(100) }),
          shown.slice(2)
        )
        assert.deepStrictEqual(
          (yield* page({ userId, now: at(100) })).map(({ id }) => id),
          [mine[0].id, mine[2].id, mine[3].id]
        )
        const all = (yield* page({ after: mine[3].id })).map(({ id }) => id)
        assert.include(all, other.id)
        assert.notInclude(all, revoked.id)
        assert.deepStrictEqual(
          Option.map(yield* tokens.find(revoked.id), ({ email, id }) => [id, email]),
          Option.some([revoked.id, user.email])
        )
        assert.deepStrictEqual(yield* tokens.find(yield* newId<TokenId>("token")), Option.none())
      })
    )

    it.effect("forgets all tokens of one user", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const [token, other] = [yield* makeToken(), yield* makeToken()]
        const second = yield* makeToken({ userId: token.userId })
        yield* tokens.removeOf(token.userId)
        assert.deepStrictEqual(yield* tokens.findByHash(token.hash), Option.none())
        assert.deepStrictEqual(yield* tokens.findByHash(second.hash), Option.none())
        assert.deepStrictEqual(yield* tokens.findByHash(other.hash), Option.some(other))
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
