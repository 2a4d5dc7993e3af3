import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  TokenRepo,
  Effect.gen(function* () {
    const { tokens } = yield* Store
    return TokenRepo.of({
      insert: (token) => Effect.sync(() => void tokens.set(token.id, token)),
      findByHash: (hash) =>
        Effect.sync(() =>
          Option.fromNullishOr(Array.from(tokens.values()).find((token) => token.hash === hash))
        ),
      revoke: (userId, id, at) =>
        Effect.sync(() => {
          const token = tokens.get(id)
          if (token?.userId !== userId) return false
          tokens.set(id, { ...token, revokedAt: token.revokedAt ?? at })
          return true
        })
    })
  })
)
