import { createHash } from "node:crypto"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Unauthenticated } from "../Schemas/Errors.ts"
import type { TokenId } from "../Schemas/Ids.ts"
import { linkMillis, looksLikeCode } from "../Schemas/Session.ts"
import { endOfMade, isUsable, looksLikeToken, type Token, tokenPrefix } from "../Schemas/Token.ts"
import { Auth } from "../Services/Auth.ts"
import { now } from "../Services/CurrentTime.ts"
import { Ids } from "../Services/Ids.ts"
import * as RequestFacts from "../Services/RequestFacts.ts"
import { Rights } from "../Services/Rights.ts"
import { TokenRepo } from "../Services/TokenRepo.ts"
import * as Rates from "./Auth/Rates.ts"

const secretBytes = 32

/** Tokens are kept as SHA-256: enough for 256 random bits, which nobody can guess. */
export const layer = Layer.effect(
  Auth,
  Effect.gen(function* () {
    const ids = yield* Ids
    const random = yield* SecureRandom.SecureRandom
    const rights = yield* Rights
    const tokens = yield* TokenRepo
    const refused = new Unauthenticated({ error: "a valid bearer token or session cookie is required" })

    const refusedLink = new Unauthenticated({
      error: "this sign-in link was used, is over or never was: ask for another one"
    })

    const make = Effect.fnUntraced(function* (given: Omit<Token, "id" | "hash" | "createdAt" | "revokedAt">) {
      const secret = tokenPrefix + Base64Url.encode(yield* random.randomBytes(secretBytes))
      const token: Token = {
        ...given,
        id: yield* ids.make<TokenId>("token"),
        hash: hashOf(secret),
        createdAt: yield* now,
        revokedAt: null
      }
      return { token, secret: Redacted.make(secret) }
    })

    return Auth.of({
      authenticate: Effect.fnUntraced(function* (secret) {
        const value = Redacted.value(secret)
        if (!looksLikeToken(value)) return yield* refused
        const found = yield* rights.owned(hashOf(value))
        if (Option.isNone(found) || !isUsable(found.value.token, yield* now)) return yield* refused
        const { token, user } = found.value
        return { ...user, token: { id: token.id, expiresAt: token.expiresAt } }
      }),
      revoke: Effect.fnUntraced(function* (userId, secret) {
        const token = yield* tokens.findByHash(hashOf(Redacted.value(secret)))
        if (Option.isSome(token)) yield* tokens.revoke(userId, token.value.id, yield* now)
      }),
      issueLink: Effect.fnUntraced(function* (userId) {
        const code = Base64Url.encode(yield* random.randomBytes(secretBytes))
        const createdAt = yield* now
        const expiresAt = new Date(createdAt.getTime() + linkMillis)
        yield* tokens.insertLink({ hash: hashOf(code), userId, createdAt, expiresAt })
        return { code: Redacted.make(code), expiresAt }
      }),
      linked: Effect.fnUntraced(function* (code) {
        const value = Redacted.value(code)
        if (!looksLikeCode(value)) return yield* refusedLink
        const user = yield* tokens.findLinked(hashOf(value), yield* now)
        return Option.isSome(user) ? user.value : yield* refusedLink
      }),
      issueByLink: Effect.fnUntraced(function* (code, options) {
        const made = yield* make({ ...options, parentId: null })
        // Who acts is known by what is made.
        yield* RequestFacts.tell({ userId: options.userId, tokenId: made.token.id })
        const hash = hashOf(Redacted.value(code))
        return (yield* tokens.insertByLink(made.token, hash)) ? made : yield* refusedLink
      }),
      issue: Effect.fnUntraced(function* (options) {
        const made = yield* make({ ...options, parentId: null })
        yield* Effect.catchTag(tokens.insert(made.token), "PlanLimitExceeded", Effect.die)
        return made
      }),
      issueBy: Effect.fnUntraced(function* (caller, { expiresAt, most, name }) {
        const { id: parentId } = caller.token
        const end = endOfMade(expiresAt, caller.token)
        const made = yield* make({ userId: caller.id, name, expiresAt: end, parentId })
        return (yield* tokens.insert(made.token, most)) ? made : yield* refused
      })
    })
  })
).pipe(Layer.provide(SecureRandom.layerWebCrypto))

/** The same, with how often each may ask. */
export const layerRated = Layer.merge(layer, Rates.layer)

const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex")
