import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import { type NotFound, notFound, type Unauthenticated, type Unavailable } from "../Schemas/Errors.ts"
import type { TokenId } from "../Schemas/Ids.ts"
import {
  type Caller,
  type CreateToken,
  type NewToken,
  type TokenView,
  toTokenView
} from "../Schemas/Token.ts"
import type { User } from "../Schemas/User.ts"
import { audited } from "./Audited.ts"
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
    /**
     * By the caller's own token: it ends with that one at the latest, whatever is asked for, and is revoked with it.
     * The secret is in the answer and nowhere else.
     */
    readonly create: (
      caller: Caller,
      input: CreateToken
    ) => Effect.Effect<NewToken, PlanLimitExceeded | Unauthenticated | Unavailable>
    /** Those of the caller that still work, oldest first. */
    readonly list: (user: User) => Effect.Effect<ReadonlyArray<TokenView>, Unavailable>
    /** With all that it made. */
    readonly remove: (user: User, id: TokenId) => Effect.Effect<void, NotFound | Unavailable>
    /**
     * A token for the `session` cookie of a browser, made as those of `create`: good for 30 days, or as long as the
     * caller's own; that of another session begins no time anew.
     */
    readonly startSession: (
      caller: Caller
    ) => Effect.Effect<
      { readonly secret: Redacted.Redacted; readonly expiresAt: Date },
      PlanLimitExceeded | Unauthenticated | Unavailable
    >
    /**
     * The same by the code of a link, which is used up by it: good for 30 days, whatever becomes of tokens of the user.
     * It counts to the quota of tokens, and is not refused by it, as an operator has made the link.
     */
    readonly startByLink: (
      code: Redacted.Redacted
    ) => Effect.Effect<
      Caller & { readonly session: { readonly secret: Redacted.Redacted; readonly expiresAt: Date } },
      Unauthenticated | Unavailable
    >
    readonly endSession: (user: User, secret: Redacted.Redacted) => Effect.Effect<void, Unavailable>
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
        create: Effect.fnUntraced(function* (caller, { expiresInDays, name }) {
          const expiresAt = expiresInDays == null ? null : yield* inDays(expiresInDays)
          const { secret, token } = yield* auth
            .issueBy(caller, { name, expiresAt, most })
            .pipe(audited("token.create", { userId: caller.id }))
          return { ...toTokenView(token), token: Redacted.value(secret) }
        }),
        list: Effect.fnUntraced(function* (user) {
          return (yield* repo.list(user.id, yield* now)).map(toTokenView)
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const of = { userId: user.id, id }
          if (!(yield* repo.revoke(user.id, id, yield* now).pipe(audited("token.revoke", of))))
            return yield* notFound("token")
        }),
        startSession: Effect.fnUntraced(function* (caller) {
          const asked = yield* inDays(sessionDays)
          const { secret, token } = yield* auth
            .issueBy(caller, { name: "browser session", expiresAt: asked, most })
            .pipe(audited("session.start", { userId: caller.id }))
          return { secret, expiresAt: token.expiresAt ?? asked }
        }),
        startByLink: Effect.fnUntraced(function* (code) {
          const user = yield* auth.linked(code)
          const expiresAt = yield* inDays(sessionDays)
          const { secret, token } = yield* auth
            .issueByLink(code, { userId: user.id, name: "browser session", expiresAt })
            .pipe(audited("session.start", { userId: user.id }))
          return { ...user, token: { id: token.id, expiresAt }, session: { secret, expiresAt } }
        }),
        endSession: (user, secret) =>
          auth.revoke(user.id, secret).pipe(audited("session.end", { userId: user.id }))
      })
    })
  )
}
