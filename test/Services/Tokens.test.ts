import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { NotFound, Unauthenticated } from "../../src/Schemas/Errors.ts"
import type { TokenId } from "../../src/Schemas/Ids.ts"
import { type Caller, CreateToken } from "../../src/Schemas/Token.ts"
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

/** A user who calls by a token of the operator's, which is none of those that `list` shows. */
const makeCaller = Effect.fnUntraced(function* (expiresAt: Date | null = null) {
  yield* TestClock.setTime(start)
  const tokens = yield* Tokens
  const user = yield* makeUser
  const own = yield* (yield* Auth).issue({ userId: user.id, name: "own", expiresAt })
  const caller: Caller = { ...user, token: own.token }
  const list = Effect.map(tokens.list(user), (all) => all.filter(({ name }) => name !== "own"))
  return { caller, list, own: Redacted.value(own.secret), tokens, user }
})

/** Who calls by this token. */
const callerBy = (secret: string) => Effect.flatMap(Auth, (auth) => auth.authenticate(Redacted.make(secret)))

describe("Tokens", () => {
  it.effect("shows the secret of a new token once, and keeps only its hash", () =>
    Effect.gen(function* () {
      const { caller, list, tokens, user } = yield* makeCaller()
      const { token, ...view } = yield* tokens.create(caller, { name: "laptop" })
      assert.match(token, /^agentd_[A-Za-z0-9_-]{43}$/u)
      assert.deepStrictEqual(view, {
        id: view.id,
        name: "laptop",
        createdAt: new Date(start),
        expiresAt: null
      })
      yield* opens(token, user)
      assert.deepStrictEqual(yield* list, [view])
      const rows = yield* (yield* TokenRepo).list(user.id, new Date(start))
      assert.strictEqual(rows.length, 2)
      assert.notInclude(JSON.stringify(rows), token.slice("agentd_".length))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("never makes one twice", () =>
    Effect.gen(function* () {
      const { caller, tokens } = yield* makeCaller()
      const made = yield* Effect.replicateEffect(tokens.create(caller, { name: "n" }), 50)
      assert.strictEqual(new Set(made.map(({ token }) => token)).size, 50)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("works until it expires, to the millisecond, and is listed as long", () =>
    Effect.gen(function* () {
      const { caller, list, tokens, user } = yield* makeCaller()
      const { token, ...view } = yield* tokens.create(caller, { name: "n", expiresInDays: 30 })
      assert.deepStrictEqual(view.expiresAt, new Date(start + 30 * day))
      yield* TestClock.setTime(start + 30 * day - 1)
      yield* opens(token, user)
      assert.deepStrictEqual(yield* list, [view])
      yield* TestClock.setTime(start + 30 * day)
      yield* isRefused(token)
      assert.deepStrictEqual(yield* list, [])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("has no end where null says so", () =>
    Effect.gen(function* () {
      const { caller, tokens, user } = yield* makeCaller()
      const { expiresAt, token } = yield* tokens.create(caller, { name: "n", expiresInDays: null })
      assert.isNull(expiresAt)
      yield* TestClock.setTime(start + 36_500 * day)
      yield* opens(token, user)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("ends when it is removed, alone", () =>
    Effect.gen(function* () {
      const { caller, list, tokens, user } = yield* makeCaller()
      const gone = yield* tokens.create(caller, { name: "gone" })
      const { token, ...kept } = yield* tokens.create(caller, { name: "kept" })
      yield* tokens.remove(user, gone.id)
      yield* isRefused(gone.token)
      yield* opens(token, user)
      assert.deepStrictEqual(yield* list, [kept])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is seen and removed by its user alone", () =>
    Effect.gen(function* () {
      const { caller, tokens, user } = yield* makeCaller()
      const stranger = yield* makeUser
      const made = yield* tokens.create(caller, { name: "n" })
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
      const { caller, tokens, user } = yield* makeCaller()
      const { token } = yield* tokens.create(caller, { name: "n" })
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
      const [, row] = yield* (yield* TokenRepo).list(user.id, new Date(start))
      yield* isRefused(row?.hash ?? "")
      yield* isRefused(`agentd_${row?.hash}`)
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("a browser session", () => {
  it.effect("is a token of 30 days that ends when it is told to, alone", () =>
    Effect.gen(function* () {
      const { caller, tokens, user } = yield* makeCaller()
      const [session, other] = [yield* tokens.startSession(caller), yield* tokens.startSession(caller)]
      const [secret, otherSecret] = [Redacted.value(session.secret), Redacted.value(other.secret)]
      assert.deepStrictEqual(session.expiresAt, new Date(start + 30 * day))
      assert.notInclude(JSON.stringify(session), secret, "a log would show the secret")
      yield* opens(secret, user)
      yield* tokens.endSession(user, session.secret)
      yield* tokens.endSession(user, session.secret)
      yield* tokens.endSession(user, Redacted.make("unknown"))
      yield* isRefused(secret)
      yield* opens(otherSecret, user)
      yield* TestClock.setTime(start + 30 * day)
      yield* isRefused(otherSecret)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("begins no time anew, however often one makes another", () =>
    Effect.gen(function* () {
      const { caller, tokens } = yield* makeCaller()
      let { expiresAt, secret } = yield* tokens.startSession(caller)
      for (let week = 1; week <= 4; week++) {
        yield* TestClock.setTime(start + week * 7 * day)
        ;({ expiresAt, secret } = yield* tokens.startSession(yield* callerBy(Redacted.value(secret))))
        assert.deepStrictEqual(expiresAt, new Date(start + 30 * day))
      }
      const token = yield* tokens.create(yield* callerBy(Redacted.value(secret)), { name: "n" })
      assert.deepStrictEqual(token.expiresAt, new Date(start + 30 * day))
      // The token that began it begins another with a time of its own.
      assert.deepStrictEqual((yield* tokens.startSession(caller)).expiresAt, new Date(start + 58 * day))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("ends with what it made, and nothing that made it", () =>
    Effect.gen(function* () {
      const { caller, own, tokens, user } = yield* makeCaller()
      const first = yield* tokens.startSession(caller)
      const second = yield* tokens.startSession(yield* callerBy(Redacted.value(first.secret)))
      const made = yield* tokens.create(yield* callerBy(Redacted.value(second.secret)), { name: "n" })
      yield* tokens.endSession(caller, second.secret)
      for (const secret of [Redacted.value(second.secret), made.token]) yield* isRefused(secret)
      for (const secret of [Redacted.value(first.secret), own]) yield* opens(secret, user)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("can be seen and ended among the tokens", () =>
    Effect.gen(function* () {
      const { caller, list, tokens, user } = yield* makeCaller()
      const { secret } = yield* tokens.startSession(caller)
      const [view] = yield* list
      assert.strictEqual(view?.name, "browser session")
      yield* tokens.remove(user, view?.id ?? ("" as TokenId))
      yield* isRefused(Redacted.value(secret))
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("What a token makes", () => {
  it.effect("ends with it at the latest, whatever is asked for", () =>
    Effect.gen(function* () {
      const end = new Date(start + 2 * day)
      const { caller, list, own, tokens, user } = yield* makeCaller(end)
      const ends = []
      for (const expiresInDays of [1, 2, 3, 3650, null]) {
        ends.push((yield* tokens.create(caller, { name: "n", expiresInDays })).expiresAt)
      }
      const made = yield* tokens.create(caller, { name: "n" })
      const session = yield* tokens.startSession(caller)
      assert.deepStrictEqual(ends, [new Date(start + day), end, end, end, end])
      assert.deepStrictEqual([made.expiresAt, session.expiresAt], [end, end])
      yield* TestClock.setTime(start + day)
      // Nor does what that makes, nor what is made later.
      const second = yield* tokens.startSession(yield* callerBy(made.token))
      const third = yield* tokens.create(yield* callerBy(Redacted.value(second.secret)), { name: "n" })
      assert.deepStrictEqual([second.expiresAt, third.expiresAt], [end, end])
      for (const secret of [own, made.token, third.token]) yield* opens(secret, user)
      yield* TestClock.setTime(start + 2 * day)
      for (const secret of [own, made.token, Redacted.value(second.secret), third.token])
        yield* isRefused(secret)
      assert.deepStrictEqual(yield* list, [])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is revoked with it, over any number of generations, and nothing else is", () =>
    Effect.gen(function* () {
      const { caller, own, tokens, user } = yield* makeCaller()
      const parent = yield* tokens.create(caller, { name: "parent" })
      const beside = yield* tokens.create(caller, { name: "beside" })
      const made = [parent.token]
      for (let generation = 0; generation < 5; generation++) {
        const by = yield* callerBy(made.at(-1) ?? "")
        made.push(Redacted.value((yield* tokens.startSession(by)).secret))
        made.push((yield* tokens.create(by, { name: "child" })).token)
      }
      yield* tokens.remove(user, parent.id)
      for (const secret of made) yield* isRefused(secret)
      for (const secret of [own, beside.token]) yield* opens(secret, user)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is nothing where it works no more", () =>
    Effect.gen(function* () {
      const { caller, list, tokens, user } = yield* makeCaller()
      const gone = yield* callerBy((yield* tokens.create(caller, { name: "gone" })).token)
      yield* tokens.remove(user, gone.token.id)
      assert.instanceOf(yield* Effect.flip(tokens.create(gone, { name: "n" })), Unauthenticated)
      assert.instanceOf(yield* Effect.flip(tokens.startSession(gone)), Unauthenticated)
      const short = yield* callerBy((yield* tokens.create(caller, { name: "short", expiresInDays: 1 })).token)
      yield* TestClock.setTime(start + day)
      assert.instanceOf(yield* Effect.flip(tokens.create(short, { name: "n" })), Unauthenticated)
      assert.deepStrictEqual(yield* list, [])
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
