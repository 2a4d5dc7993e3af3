import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { isUsable, type OwnedToken, type Token, toTokenView } from "../../../Schemas/Token.ts"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import { inOrder, pageOf } from "./Order.ts"
import { countAll, planOf, unlessFull } from "./Quotas.ts"
import { Store, type Tables } from "./Store.ts"
import { toUser } from "./UserRepo.ts"

/** How tokens end, and what ends with them. */
const endings = ({ members, signInLinks, tokens, users }: Tables) =>
  ({
    removeOf: (userId) =>
      Effect.sync(() => {
        for (const token of tokens.values()) if (token.userId === userId) tokens.delete(token.id)
        for (const link of signInLinks.values()) if (link.userId === userId) signInLinks.delete(link.hash)
      }),
    revoke: (userId, id, at) =>
      Effect.sync(() => {
        const token = tokens.get(id)
        if (token?.userId !== userId) return false
        for (const each of [token, ...madeBy(tokens, id)]) {
          if (each.revokedAt === null) tokens.set(each.id, { ...each, revokedAt: at })
        }
        return true
      }),
    mayRead: (readings, now) =>
      Effect.sync(() =>
        readings.filter(({ tokenId, workspaceId }) => {
          const token = tokens.get(tokenId)
          if (token === undefined || !isUsable(token, now)) return false
          if (users.get(token.userId)?.disabledAt !== null) return false
          return Array.from(members.values()).some(
            (member) => member.workspaceId === workspaceId && member.userId === token.userId
          )
        })
      ),
    prune: (before, limit) =>
      Effect.sync(() => {
        const due = Array.from(tokens.values())
          .flatMap((token) => {
            const ends = [token.expiresAt, token.revokedAt].flatMap((end) => end ?? [])
            const endedAt = ends.sort((a, b) => a.getTime() - b.getTime())[0]
            return endedAt === undefined || endedAt >= before ? [] : [{ ...token, endedAt }]
          })
          .sort(inOrder("endedAt"))
          .slice(0, limit)
        for (const { id } of due) {
          for (const made of madeBy(tokens, id)) tokens.delete(made.id)
          tokens.delete(id)
        }
        const links = Array.from(signInLinks.values())
          .filter(({ expiresAt }) => expiresAt < before)
          .sort((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())
          .slice(0, limit)
        for (const { hash } of links) signInLinks.delete(hash)
        return due.length + links.length
      })
  }) satisfies Partial<TokenRepo["Service"]>

/** Links that sign in once. */
const links = ({ signInLinks, tokens, users }: Tables) => {
  const linked = (hash: string, now: Date) => {
    const link = signInLinks.get(hash)
    const user = link === undefined || link.expiresAt <= now ? undefined : users.get(link.userId)
    return user?.disabledAt === null ? user : undefined
  }
  return {
    insertLink: (link) => Effect.sync(() => void signInLinks.set(link.hash, link)),
    findLinked: (hash, now) => Effect.sync(() => Option.map(Option.fromNullishOr(linked(hash, now)), toUser)),
    insertByLink: (token, hash) =>
      Effect.sync(() => {
        if (linked(hash, token.createdAt)?.id !== token.userId) return false
        signInLinks.delete(hash)
        tokens.set(token.id, token)
        return true
      })
  } satisfies Partial<TokenRepo["Service"]>
}

export const layer = Layer.effect(
  TokenRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { tokens, users } = tables
    const shown = (token: Token): ReadonlyArray<OwnedToken> => {
      const user = users.get(token.userId)
      return user === undefined ? [] : [{ ...toTokenView(token), userId: user.id, email: user.email }]
    }
    return guard(
      TokenRepo.of({
        insert: (token, most) =>
          Effect.suspend(() => {
            const taken = Array.from(tokens.values()).some(({ hash }) => hash === token.hash)
            if (taken) return Effect.die(new Error("a token with this hash exists"))
            const parent = token.parentId === null ? undefined : tokens.get(token.parentId)
            const mayBe =
              token.parentId === null ||
              (parent?.userId === token.userId && isUsable(parent, token.createdAt))
            if (!mayBe) return Effect.succeed(false)
            const used = countAll(tables, "", token.userId, token.createdAt).tokens
            const room = { used, plan: planOf(tables, token.userId), most }
            return unlessFull("tokens", room, () => {
              tokens.set(token.id, token)
              return true
            })
          }),
        findByHash: (hash) =>
          Effect.sync(() =>
            Option.fromNullishOr(Array.from(tokens.values()).find((token) => token.hash === hash))
          ),
        findOwned: (hash) =>
          Effect.sync(() => {
            const token = Array.from(tokens.values()).find((candidate) => candidate.hash === hash)
            const user = token && users.get(token.userId)
            return token && user?.disabledAt === null
              ? Option.some({ token, user: toUser(user) })
              : Option.none()
          }),
        list: (userId, now) =>
          Effect.sync(() =>
            Array.from(tokens.values())
              .filter((token) => token.userId === userId && isUsable(token, now))
              .sort(inOrder("createdAt"))
          ),
        page: ({ now, userId, ...range }) =>
          Effect.sync(() =>
            pageOf(
              Array.from(tokens.values())
                .filter((token) => isUsable(token, now) && (userId === null || token.userId === userId))
                .flatMap(shown),
              range
            )
          ),
        find: (id) =>
          Effect.sync(() => {
            const token = tokens.get(id)
            return Option.fromNullishOr(token && shown(token)[0])
          }),
        ...endings(tables),
        ...links(tables)
      })
    )
  })
)

/** All that a token made, and what that made. */
const madeBy = (tokens: ReadonlyMap<string, Token>, id: string): ReadonlyArray<Token> =>
  Array.from(tokens.values())
    .filter(({ parentId }) => parentId === id)
    .flatMap((made) => [made, ...madeBy(tokens, made.id)])
