import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { isUsable, type OwnedToken, type Token, toTokenView } from "../../../Schemas/Token.ts"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import { inOrder, pageOf } from "./Order.ts"
import { countAll, planOf, unlessFull } from "./Quotas.ts"
import { Store } from "./Store.ts"
import { toUser } from "./UserRepo.ts"

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
            const used = countAll(tables, "", token.userId, token.createdAt).tokens
            const room = { used, plan: planOf(tables, token.userId), most }
            return unlessFull("tokens", room, () => void tokens.set(token.id, token))
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
        removeOf: (userId) =>
          Effect.sync(() => {
            for (const token of tokens.values()) if (token.userId === userId) tokens.delete(token.id)
          }),
        revoke: (userId, id, at) =>
          Effect.sync(() => {
            const token = tokens.get(id)
            if (token?.userId !== userId) return false
            tokens.set(id, { ...token, revokedAt: token.revokedAt ?? at })
            return true
          })
      })
    )
  })
)
