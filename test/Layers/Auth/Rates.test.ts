import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import * as RatesLayer from "../../../src/Layers/Auth/Rates.ts"
import { Unauthenticated, Unavailable } from "../../../src/Schemas/Errors.ts"
import type { TokenId, UserId } from "../../../src/Schemas/Ids.ts"
import type { Caller } from "../../../src/Schemas/Token.ts"
import type { Email } from "../../../src/Schemas/User.ts"
import { Rates } from "../../../src/Services/Rates.ts"
import { CurrentRequest, type RequestFacts } from "../../../src/Services/RequestFacts.ts"
import { Settings, type SettingsShape } from "../../../src/Services/Settings.ts"

const layer = (settings: Partial<SettingsShape> = {}) =>
  RatesLayer.layer.pipe(
    Layer.provide(
      Layer.succeed(Settings, { ...Settings.defaults, ratePerMinute: 60, anonymousPerMinute: 3, ...settings })
    )
  )

/** Tokens that are good, and how often they were looked up. */
const makeDoor = Effect.gen(function* () {
  const rates = yield* Rates
  const good = new Set<string>()
  let asked = 0
  const authenticate = (secret: string) =>
    Effect.gen(function* () {
      asked++
      yield* Effect.yieldNow
      if (secret === "broken") return yield* new Unavailable({ error: "away" })
      if (!good.has(secret)) return yield* new Unauthenticated({ error: "no" })
      const caller: Caller = {
        id: "user_a" as UserId,
        email: "a@example.org" as Email,
        createdAt: new Date(0),
        token: { id: `token_${secret}` as TokenId, expiresAt: null }
      }
      return caller
    })
  /** What comes of a request: a word, what it was told of the rate, and after how many seconds to come again. */
  const knock = Effect.fnUntraced(function* (secret: string, address = "192.0.2.1") {
    const facts: RequestFacts = { address }
    const outcome = yield* rates.admit(Redacted.make(secret), authenticate(secret)).pipe(
      Effect.match({
        onFailure: (error) => ({
          word: error._tag,
          after: error._tag === "RateLimited" ? error.retryAfter : undefined
        }),
        onSuccess: () => ({ word: "in", after: undefined })
      }),
      Effect.provideService(CurrentRequest, facts)
    )
    return { ...outcome, rate: facts.rate }
  })
  const words = (secret: string, times: number, address?: string) =>
    Effect.map(
      Effect.all(
        Array.from({ length: times }, () => knock(secret, address)),
        { concurrency: "unbounded" }
      ),
      (all) => all.map(({ word }) => word)
    )
  return { good, knock, words, asked: () => asked }
})

const count = (words: ReadonlyArray<string>, word: string) => words.filter((one) => one === word).length

describe("the rate of a token", () => {
  it.effect("is a minute's worth at once, and then as fast as it is filled in", () =>
    Effect.gen(function* () {
      const { good, knock, words } = yield* makeDoor
      good.add("a").add("b")
      assert.strictEqual(count(yield* words("a", 100), "in"), 60)
      const over = yield* knock("a")
      assert.deepInclude(over, { word: "RateLimited", after: 1 })
      assert.deepInclude(over.rate, { remaining: 0, seconds: 1 })
      assert.strictEqual(over.rate?.policy.name, "default")
      assert.deepInclude((yield* knock("b")).rate, { remaining: 59 })
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* words("a", 2), ["in", "RateLimited"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(count(yield* words("a", 100), "in"), 60)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is looked at before its token, once that has worked", () =>
    Effect.gen(function* () {
      const { asked, good, words } = yield* makeDoor
      good.add("a")
      yield* words("a", 1)
      yield* words("a", 1000)
      assert.strictEqual(asked(), 60)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is any number where the operator says 0", () =>
    Effect.gen(function* () {
      const { good, knock, words } = yield* makeDoor
      good.add("a")
      assert.strictEqual(count(yield* words("a", 1000), "in"), 1000)
      assert.isUndefined((yield* knock("a")).rate)
      assert.strictEqual(count(yield* words("bad", 1000), "Unauthenticated"), 1000)
      assert.isUndefined((yield* knock("bad")).rate)
    }).pipe(Effect.provide(layer({ ratePerMinute: 0, anonymousPerMinute: 0 })))
  )
})

describe("refused credentials of an address", () => {
  it.effect("are refused, and then not looked at", () =>
    Effect.gen(function* () {
      const { asked, knock, words } = yield* makeDoor
      const first = yield* knock("bad")
      assert.deepInclude(first, { word: "Unauthenticated" })
      assert.deepInclude(first.rate, { remaining: 2, seconds: 20 })
      assert.strictEqual(first.rate?.policy.name, "anonymous")
      yield* words("bad", 2)
      const over = yield* knock("other")
      assert.deepInclude(over, { word: "RateLimited", after: 20 })
      assert.strictEqual(asked(), 3)
      assert.deepStrictEqual(yield* words("bad", 1, "192.0.2.2"), ["Unauthenticated"])
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* words("bad", 2), ["Unauthenticated", "RateLimited"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are so many also when they come at once, and what was looked at beyond it is owed", () =>
    Effect.gen(function* () {
      const { asked, good, words } = yield* makeDoor
      good.add("a")
      assert.strictEqual(count(yield* words("bad", 5), "Unauthenticated"), 3)
      assert.strictEqual(asked(), 5)
      yield* TestClock.adjust("59 seconds")
      yield* words("bad", 5)
      assert.strictEqual(asked(), 5)
      yield* TestClock.adjust("1 seconds")
      yield* words("bad", 100)
      assert.strictEqual(asked(), 105)
      yield* TestClock.adjust("79 seconds")
      yield* words("bad", 5)
      assert.strictEqual(asked(), 105)
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(yield* words("a", 1), ["in"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("lock out nobody there whose token has worked, and who comes anew only until there is room", () =>
    Effect.gen(function* () {
      const { good, words } = yield* makeDoor
      good.add("a").add("new")
      yield* words("a", 1, "192.0.2.7")
      yield* words("bad", 10)
      assert.deepStrictEqual(yield* words("a", 3), ["in", "in", "in"])
      assert.deepStrictEqual(yield* words("new", 1), ["RateLimited"])
      assert.deepStrictEqual(yield* words("new", 1, "192.0.2.2"), ["in"])
      assert.deepStrictEqual(yield* words("new", 1), ["in"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are those of a token that stopped to work, from the first on", () =>
    Effect.gen(function* () {
      const { asked, good, words } = yield* makeDoor
      good.add("a")
      yield* words("a", 1)
      good.delete("a")
      yield* words("bad", 10)
      const before = asked()
      assert.deepStrictEqual(yield* words("a", 1), ["RateLimited"])
      assert.strictEqual(asked(), before + 1)
      for (let i = 0; i < 5; i++) yield* words("a", 1)
      assert.strictEqual(asked(), before + 1)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("cost a good token nothing, and a database that is away nobody", () =>
    Effect.gen(function* () {
      const { good, words } = yield* makeDoor
      good.add("a")
      yield* words("a", 30)
      assert.strictEqual(count(yield* words("broken", 30), "Unavailable"), 30)
      assert.deepStrictEqual(yield* words("bad", 3), [
        "Unauthenticated",
        "Unauthenticated",
        "Unauthenticated"
      ])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("count together for 64 bits of IPv6, and for one address of IPv4, however it is written", () =>
    Effect.gen(function* () {
      const { words } = yield* makeDoor
      for (const address of ["2001:db8::1", "2001:db8::2", "2001:db8::ffff"]) yield* words("bad", 1, address)
      assert.deepStrictEqual(yield* words("bad", 1, "2001:db8::9"), ["RateLimited"])
      assert.deepStrictEqual(yield* words("bad", 1, "2001:db8:0:1::9"), ["Unauthenticated"])
      yield* words("bad", 3, "192.0.2.9")
      assert.deepStrictEqual(yield* words("bad", 1, "::ffff:192.0.2.9"), ["RateLimited"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("forget a token behind 10,000 others that have worked since", () =>
    Effect.gen(function* () {
      const { good, words } = yield* makeDoor
      for (const token of ["a", "b"]) yield* words(good.add(token) && token, 1)
      for (let i = 0; i < 9_998; i++) yield* words(good.add(`t${i}`) && `t${i}`, 1)
      yield* words("a", 1)
      yield* words(good.add("last") && "last", 1)
      yield* words("bad", 3)
      assert.deepStrictEqual(yield* words("a", 1), ["in"])
      assert.deepStrictEqual(yield* words("b", 1), ["RateLimited"])
    }).pipe(Effect.provide(layer()))
  )
})
