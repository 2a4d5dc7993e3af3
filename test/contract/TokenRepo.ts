import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TokenId, UserId } from "../../src/Schemas/Ids.ts"
import type { Token } from "../../src/Schemas/Token.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"

const newToken = Effect.fnUntraced(function* (given: Partial<Token> = {}) {
  const id = yield* newId<TokenId>("token")
  const token: Token = {
    id,
    userId: given.userId ?? (yield* makeUser).id,
    parentId: null,
    name: unicode,
    hash: `hash of ${id}`,
    createdAt: at(),
    expiresAt: null,
    revokedAt: null,
    ...given
  }
  return token
})

const makeToken = Effect.fnUntraced(function* (given: Partial<Token> = {}) {
  const token = yield* newToken(given)
  assert.isTrue(yield* (yield* TokenRepo).insert(token))
  return token
})

/** Long before those of other tests. */
const early = (millis: number) => new Date(millis - 1_000_000)

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

    it.effect("takes a link once, whoever takes it, for its user and in its time", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const [user, other] = [yield* makeUser, yield* makeUser]
        const hash = `link of ${user.id}`
        const link = { hash, userId: user.id, createdAt: at(), expiresAt: at(100) }
        yield* tokens.insertLink(link)
        assert.deepStrictEqual(yield* tokens.findLinked(hash, at(99)), Option.some(user))
        assert.deepStrictEqual(yield* tokens.findLinked(hash, at(100)), Option.none())
        assert.deepStrictEqual(yield* tokens.findLinked(`${hash}!`, at()), Option.none())
        const made = (given: Partial<Token>) =>
          Effect.flatMap(newToken({ userId: user.id, ...given }), (token) =>
            Effect.map(tokens.insertByLink(token, hash), (isMade) => (isMade ? token : undefined))
          )
        assert.isUndefined(yield* made({ userId: other.id }))
        assert.isUndefined(yield* made({ createdAt: at(100) }))
        yield* (yield* UserRepo).setDisabled(user.id, at())
        assert.deepStrictEqual(yield* tokens.findLinked(hash, at()), Option.none())
        assert.isUndefined(yield* made({}))
        yield* (yield* UserRepo).setDisabled(user.id, null)
        const all = yield* Effect.replicateEffect(made({}), 8, { concurrency: "unbounded" })
        const [token, ...rest] = all.flatMap((token) => token ?? [])
        assert.deepStrictEqual(rest, [])
        assert.deepStrictEqual(yield* tokens.findByHash(token?.hash ?? ""), Option.fromNullishOr(token))
        assert.deepStrictEqual(yield* tokens.findLinked(hash, at()), Option.none())
      })
    )

    it.effect("forgets links with their user's tokens, and those that are over", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const user = yield* makeUser
        const [own, over] = [`own ${user.id}`, `over ${user.id}`]
        const insert = (hash: string, expiresAt: Date) =>
          tokens.insertLink({ hash, userId: user.id, createdAt: early(0), expiresAt })
        const isThere = (hash: string) => Effect.map(tokens.findLinked(hash, early(-1)), Option.isSome)
        while ((yield* tokens.prune(early(2), 1_000)) > 0) {}
        yield* insert(own, at(100))
        yield* insert(over, early(1))
        assert.strictEqual(yield* tokens.prune(early(1), 100), 0)
        assert.isTrue(yield* isThere(over))
        assert.strictEqual(yield* tokens.prune(early(2), 100), 1)
        assert.deepStrictEqual([yield* isThere(own), yield* isThere(over)], [true, false])
        yield* tokens.removeOf(user.id)
        assert.isFalse(yield* isThere(own))
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

    it.effect("keeps what a token makes while that works at the moment, for its user alone", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const parent = yield* makeToken({ expiresAt: at(100) })
        const revoked = yield* makeToken({ userId: parent.userId, revokedAt: at(1) })
        const made = yield* makeToken({ userId: parent.userId, parentId: parent.id, createdAt: at(99) })
        assert.deepStrictEqual(yield* tokens.findByHash(made.hash), Option.some(made))
        const refused: ReadonlyArray<Partial<Token>> = [
          { parentId: parent.id, createdAt: at(100) },
          { parentId: revoked.id },
          { parentId: yield* newId<TokenId>("token") },
          { parentId: parent.id, userId: (yield* makeUser).id }
        ]
        for (const given of refused) {
          const id = yield* newId<TokenId>("token")
          const late = { ...made, id, hash: `hash of ${id}`, createdAt: at(), ...given }
          assert.isFalse(yield* tokens.insert(late))
          assert.deepStrictEqual(yield* tokens.findByHash(late.hash), Option.none())
        }
      })
    )

    it.effect("revokes all that a token made, however long ago, and nothing else", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const root = yield* makeToken()
        const { userId } = root
        const by = (parent: Token, given: Partial<Token> = {}) =>
          makeToken({ userId, parentId: parent.id, ...given })
        const chain = [root]
        for (let n = 0; n < 300; n++) chain.push(yield* by(chain[n] ?? root))
        const twig = yield* by(chain[150] ?? root)
        const [ended, beside] = [yield* by(root), yield* makeToken({ userId })]
        yield* tokens.revoke(userId, ended.id, at(5))
        const top = chain[1] ?? root
        assert.isTrue(yield* tokens.revoke(userId, top.id, at(9)))
        assert.isTrue(yield* tokens.revoke(userId, top.id, at(10)))
        const revokedAt = ({ hash }: Token) =>
          Effect.map(
            tokens.findByHash(hash),
            Option.map((found) => found.revokedAt)
          )
        assert.deepStrictEqual(yield* Effect.forEach([ended, top, twig, ...chain.slice(2)], revokedAt), [
          Option.some(at(5)),
          ...Array.from({ length: 301 }, () => Option.some(at(9)))
        ])
        assert.deepStrictEqual(yield* Effect.forEach([root, beside], revokedAt), [
          Option.some(null),
          Option.some(null)
        ])
      })
    )

    it.effect("says who may read on: by a token that works, as a member who is not disabled", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const [users, workspaces] = [yield* UserRepo, yield* WorkspaceRepo]
        const workspaceId = yield* makeWorkspace
        const member = Effect.fnUntraced(function* (given: Partial<Token> = {}) {
          const token = yield* makeToken(given)
          yield* workspaces.addMember(workspaceId, token.userId, "member", at())
          return { tokenId: token.id, userId: token.userId, workspaceId }
        })
        const stays = yield* member()
        const expiring = yield* member({ expiresAt: at(100) })
        const revoked = yield* member({ revokedAt: at() })
        const [disabled, removed, left] = [yield* member(), yield* member(), yield* member()]
        yield* users.setDisabled(disabled.userId, at())
        yield* tokens.removeOf(removed.userId)
        yield* workspaces.removeMember(workspaceId, left.userId)
        const asked = [stays, expiring, revoked, disabled, removed, left].map(({ tokenId }) => ({
          tokenId,
          workspaceId
        }))
        const elsewhere = { tokenId: stays.tokenId, workspaceId: yield* makeWorkspace }
        const mayRead = (now: Date) =>
          Effect.map(tokens.mayRead([...asked, elsewhere], now), (found) =>
            [...found].sort((a, b) => (a.tokenId < b.tokenId ? -1 : 1))
          )
        assert.deepStrictEqual(yield* mayRead(at(99)), asked.slice(0, 2))
        assert.deepStrictEqual(yield* mayRead(at(100)), asked.slice(0, 1))
        assert.deepStrictEqual(yield* tokens.mayRead([], at()), [])
      })
    )

    it.effect("forgets those that ended before a moment, the oldest ends first, so many at a time", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const { userId } = yield* makeToken()
        const parent = yield* makeToken({ userId, revokedAt: early(2_000) })
        const [first, third, last] = [
          yield* makeToken({ userId, expiresAt: early(1_000), revokedAt: early(9_000) }),
          yield* makeToken({ userId, revokedAt: early(3_000), expiresAt: early(8_000) }),
          yield* makeToken({ userId, expiresAt: early(4_000) })
        ]
        const working = yield* makeToken({ userId })
        const all = [first, parent, third, last, working]
        const kept = Effect.map(
          Effect.forEach(all, ({ hash }) => tokens.findByHash(hash)),
          (found) => found.flatMap(Option.toArray).map(({ id }) => all.findIndex((token) => token.id === id))
        )
        assert.strictEqual(yield* tokens.prune(early(1_000), 9), 0)
        assert.strictEqual(yield* tokens.prune(early(4_000), 2), 2)
        assert.deepStrictEqual(yield* kept, [2, 3, 4])
        assert.strictEqual(yield* tokens.prune(early(4_000), 2), 1)
        assert.deepStrictEqual(yield* kept, [3, 4])
        assert.strictEqual(yield* tokens.prune(early(4_001), 2), 1)
        assert.deepStrictEqual(yield* kept, [4])
      })
    )

    it.effect("forgets what a token made with it, so that nothing is without its parent", () =>
      Effect.gen(function* () {
        const tokens = yield* TokenRepo
        const parent = yield* makeToken({ createdAt: early(0), expiresAt: early(1_000) })
        const { userId } = parent
        const child = yield* makeToken({ userId, parentId: parent.id, createdAt: early(1) })
        const grandchild = yield* makeToken({ userId, parentId: child.id })
        assert.strictEqual(yield* tokens.prune(early(1_001), 9), 1)
        for (const { hash } of [parent, child, grandchild]) {
          assert.deepStrictEqual(yield* tokens.findByHash(hash), Option.none())
        }
      })
    )
  })
