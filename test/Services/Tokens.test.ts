import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { NotFound, Unauthenticated } from "../../src/Schemas/Errors.ts"
import type { TokenId } from "../../src/Schemas/Ids.ts"
import { CreateToken } from "../../src/Schemas/Token.ts"
import type { User } from "../../src/Schemas/User.ts"
import { Auth } from "../../src/Services/Auth.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { Tokens } from "../../src/Services/Tokens.ts"
import { makeUser } from "../support/Fixtures.ts"
import { layerAtRest } from "../support/Service.ts"

const start = Date.UTC(2026, 10, 20, 8)
const day = 86_400_000

const opens = Effect.fnUntraced(function* (secret: string, user: User) {
  const { token: _, ...found } = yield* (yield* Auth).authenticate(Redacted.make(secret))
  assert.deepStrictEqual(found, user)
})

const isRefused = Effect.fnUntraced(function* (secret: string) {
  const error = yield* Effect.flip((yield* Auth).authenticate(Redacted.make(secret)))
  assert.instanceOf(error, Unauthenticated)
  assert.strictEqual(error.error, "a valid bearer token or session cookie is required")
})

const makeCaller = Effect.gen(function* () {
  yield* TestClock.setTime(start)
  return { tokens: yield* Tokens, user: yield* makeUser }
})

describe("Tokens", () => {
  it.effect("shows the secret of a new token once, and keeps only its hash", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const { token, ...view } = yield* tokens.create(user, { name: "laptop" })
      assert.match(token, /^agentd_[A-Za-z0-9_-]{43}$/u)
      assert.deepStrictEqual(view, {
        id: view.id,
        name: "laptop",
        createdAt: new Date(start),
        expiresAt: null
      })
      yield* opens(token, user)
      assert.deepStrictEqual(yield* tokens.list(user), [view])
      const rows = yield* (yield* TokenRepo).list(user.id, new Date(start))
      assert.strictEqual(rows.length, 1)
      assert.notInclude(JSON.stringify(rows), token.slice("agentd_".length))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("never makes one twice", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const made = yield* Effect.replicateEffect(tokens.create(user, { name: "n" }), 50)
      assert.strictEqual(new Set(made.map(({ token }) => token)).size, 50)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("works until it expires, to the millisecond, and is listed as long", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const { token, ...view } = yield* tokens.create(user, { name: "n", expiresInDays: 30 })
      assert.deepStrictEqual(view.expiresAt, new Date(start + 30 * day))
      yield* TestClock.setTime(start + 30 * day - 1)
      yield* opens(token, user)
      assert.deepStrictEqual(yield* tokens.list(user), [view])
      yield* TestClock.setTime(start + 30 * day)
      yield* isRefused(token)
      assert.deepStrictEqual(yield* tokens.list(user), [])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("has no end where null says so", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const { expiresAt, token } = yield* tokens.create(user, { name: "n", expiresInDays: null })
      assert.isNull(expiresAt)
      yield* TestClock.setTime(start + 36_500 * day)
      yield* opens(token, user)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("ends when it is removed, alone", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const gone = yield* tokens.create(user, { name: "gone" })
      const { token, ...kept } = yield* tokens.create(user, { name: "kept" })
      yield* tokens.remove(user, gone.id)
      yield* isRefused(gone.token)
      yield* opens(token, user)
      assert.deepStrictEqual(yield* tokens.list(user), [kept])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is seen and removed by its user alone", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const stranger = yield* makeUser
      const made = yield* tokens.create(user, { name: "n" })
      assert.deepStrictEqual(yield* tokens.list(stranger), [])
      for (const id of [made.id, "token_absent" as TokenId]) {
        const error = yield* Effect.flip(tokens.remove(stranger, id))
        assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "token not found"])
      }
      yield* opens(made.token, user)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("opens nothing when it is unknown, or no token at all", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const { token } = yield* tokens.create(user, { name: "n" })
      for (const wrong of [
        "",
        "agentd_",
        `${token}A`,
        token.slice(0, -1),
        token.toUpperCase(),
        `Bearer ${token}`
      ]) {
        yield* isRefused(wrong)
      }
      const [row] = yield* (yield* TokenRepo).list(user.id, new Date(start))
      yield* isRefused(row?.hash ?? "")
      yield* isRefused(`agentd_${row?.hash}`)
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("a browser session", () => {
  it.effect("is a token of 30 days that ends when it is told to, alone", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const [session, other] = [yield* tokens.startSession(user), yield* tokens.startSession(user)]
      const [secret, otherSecret] = [Redacted.value(session.secret), Redacted.value(other.secret)]
      assert.deepStrictEqual(session.expiresAt, new Date(start + 30 * day))
      assert.notInclude(JSON.stringify(session), secret, "a log would show the secret")
      yield* opens(secret, user)
      yield* tokens.endSession(session.secret)
      yield* tokens.endSession(session.secret)
      yield* tokens.endSession(Redacted.make("unknown"))
      yield* isRefused(secret)
      yield* opens(otherSecret, user)
      yield* TestClock.setTime(start + 30 * day)
      yield* isRefused(otherSecret)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("can be seen and ended among the tokens", () =>
    Effect.gen(function* () {
      const { tokens, user } = yield* makeCaller
      const { secret } = yield* tokens.startSession(user)
      const [view] = yield* tokens.list(user)
      assert.strictEqual(view?.name, "browser session")
      yield* tokens.remove(user, view?.id ?? ("" as TokenId))
      yield* isRefused(Redacted.value(secret))
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("a new token", () => {
  it("lives for 1 to 3650 whole days, or for ever", () => {
    const accepts = (given: object) =>
      Schema.decodeUnknownExit(CreateToken)({ name: "n", ...given })._tag === "Success"
    assert.isTrue(accepts({}))
    for (const expiresInDays of [null, 1, 3650]) assert.isTrue(accepts({ expiresInDays }))
    for (const expiresInDays of [0, -1, 1.5, 3651, "30", Number.NaN])
      assert.isFalse(accepts({ expiresInDays }))
  })
})
