import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import { type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { TokenId } from "../Schemas/Ids.ts"
import { type CreateToken, type NewToken, type TokenView, toTokenView } from "../Schemas/Token.ts"
import type { User } from "../Schemas/User.ts"
import { Auth } from "./Auth.ts"
import { now } from "./CurrentTime.ts"
import { Settings } from "./Settings.ts"
import { TokenRepo } from "./TokenRepo.ts"

const dayMillis = 86_400_000
const sessionDays = 30

/** What a caller does with its own tokens and browser sessions (CONTRACT.md section 8). */
export class Tokens extends Context.Service<
  Tokens,
  {
    /** The secret is in the answer and nowhere else. */
    readonly create: (
      user: User,
      input: CreateToken
    ) => Effect.Effect<NewToken, PlanLimitExceeded | Unavailable>
    /** Those of the caller that still work, oldest first. */
    readonly list: (user: User) => Effect.Effect<ReadonlyArray<TokenView>, Unavailable>
    readonly remove: (user: User, id: TokenId) => Effect.Effect<void, NotFound | Unavailable>
    /** A token for the `session` cookie of a browser, good for 30 days; it is one of the user's tokens. */
    readonly startSession: (
      user: User
    ) => Effect.Effect<
      { readonly secret: Redacted.Redacted; readonly expiresAt: Date },
      PlanLimitExceeded | Unavailable
    >
    readonly endSession: (secret: Redacted.Redacted) => Effect.Effect<void, Unavailable>
  }
>()("agentd/Services/Tokens") {
  static readonly layer = Layer.effect(
    Tokens,
    Effect.gen(function* () {
      const auth = yield* Auth
      const repo = yield* TokenRepo
      const most = (yield* Settings).quotas.tokens
      const inDays = (days: number) => Effect.map(now, (at) => new Date(at.getTime() + days * dayMillis))
      return Tokens.of({
        create: Effect.fn("Tokens.create")(function* (user, { expiresInDays, name }) {
          const expiresAt = expiresInDays == null ? null : yield* inDays(expiresInDays)
          const { secret, token } = yield* auth.issue({ userId: user.id, name, expiresAt, most })
          return { ...toTokenView(token), token: Redacted.value(secret) }
        }),
        list: Effect.fn("Tokens.list")(function* (user) {
          return (yield* repo.list(user.id, yield* now)).map(toTokenView)
        }),
        remove: Effect.fn("Tokens.remove")(function* (user, id) {
          if (!(yield* repo.revoke(user.id, id, yield* now))) return yield* notFound("token")
        }),
        startSession: Effect.fn("Tokens.startSession")(function* (user) {
          const expiresAt = yield* inDays(sessionDays)
          const session = { userId: user.id, name: "browser session", expiresAt, most }
          const { secret } = yield* auth.issue(session)
          return { secret, expiresAt }
        }),
        endSession: auth.revoke
      })
    })
  )
}
