import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { type KeptAnswer, keyOfHeader, mostAnswerBytes, requestText } from "../../src/Schemas/Idempotency.ts"
import { Idempotency, type Keyed, type Performed } from "../../src/Services/Idempotency.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { makeUser } from "../support/Fixtures.ts"

const ring = (byte: number | null) =>
  Ring.layer({
    current: byte === null ? undefined : Buffer.alloc(Ring.keyBytes, byte).toString("base64"),
    former: []
  })

const store = Repo.layerMemory.pipe(
  Layer.provideMerge(Layer.mergeAll(Ids.layer, Layer.succeed(Settings, Settings.defaults)))
)

/** Over one store, with this key or none. */
const withKey = (byte: number | null) =>
  Effect.provide(Effect.service(Idempotency), Layer.provide(Idempotency.layer, ring(byte)), { local: true })

const answer = (body: string): KeptAnswer => ({
  status: 201,
  headers: { "x-next-after": "1" },
  cookies: ["session=s; Path=/; HttpOnly"],
  contentType: "application/json",
  body
})

const newKeyed = Effect.fnUntraced(function* (given: Partial<Keyed> = {}) {
  const user = yield* makeUser
  const caller = { ...user, token: { id: "token_1", expiresAt: null } } as Keyed["caller"]
  const keyed: Keyed = {
    caller,
    method: "POST",
    path: "/api/agents",
    key: "k",
    request: requestText({}, { a: 1 }),
    keeping: "within",
    ...given
  }
  return keyed
})

/** What is performed, and how often it was. */
const counted = (performed: Performed) => {
  let times = 0
  const perform = Effect.sync(() => {
    times++
    return performed
  })
  return { times: () => times, perform }
}

describe("once", () => {
  it.effect("performs a request once, in a transaction, and gives its answer again", () =>
    Effect.gen(function* () {
      const { once } = yield* withKey(7)
      const { isOpen } = yield* Transaction
      const keyed = yield* newKeyed()
      const performed = { answer: answer("é\u0000") }
      const { perform, times } = counted(performed)
      const within = Effect.andThen(Effect.map(isOpen, assert.isTrue), perform)
      assert.deepStrictEqual(yield* once(keyed, within), { performed, isReplayed: false })
      assert.deepStrictEqual(yield* once(keyed, within), { performed, isReplayed: true })
      assert.strictEqual(times(), 1)
      const error = yield* Effect.flip(once({ ...keyed, request: "other" }, within))
      assert.strictEqual(error._tag, "IdempotencyConflict")
    }).pipe(Effect.provide(store))
  )

  it.effect("keeps nothing of what fails, dies or is interrupted", () =>
    Effect.gen(function* () {
      const { once } = yield* withKey(7)
      const keyed = yield* newKeyed()
      yield* Effect.flip(once(keyed, Effect.fail("no")))
      yield* Effect.exit(once(keyed, Effect.die("boom")))
      const started = yield* Deferred.make<void>()
      const hanging = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const fiber = yield* Effect.forkChild(once(keyed, hanging))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      const { perform, times } = counted({ answer: answer("") })
      assert.isFalse((yield* once(keyed, perform)).isReplayed)
      assert.strictEqual(times(), 1)
    }).pipe(Effect.provide(store))
  )

  it.effect("does not perform again what has an answer that is too large to be kept, and says so", () =>
    Effect.gen(function* () {
      const { once } = yield* withKey(7)
      for (const keeping of ["within", "sealed"] as const) {
        const keyed = yield* newKeyed({ keeping })
        const performed = { answer: answer("é".repeat(mostAnswerBytes / 2)) }
        const { perform, times } = counted(performed)
        assert.deepStrictEqual((yield* once(keyed, perform)).performed, performed)
        const error = yield* Effect.flip(once(keyed, perform))
        assert.match(error.error, /its request was done, and its answer was too large to be kept/)
        assert.strictEqual(times(), 1)
      }
    }).pipe(Effect.provide(store))
  )

  it.effect("refuses what shows a secret where nothing can be sealed, and undoes it", () =>
    Effect.gen(function* () {
      const { once } = yield* withKey(null)
      const keyed = yield* newKeyed({ keeping: "sealed" })
      const error = yield* Effect.flip(once(keyed, counted({ answer: answer("secret") }).perform))
      assert.strictEqual(error._tag, "InvalidInput")
      assert.match(error.error, /^Idempotency-Key: its answer shows a secret: /)
      assert.isFalse(
        (yield* once({ ...keyed, keeping: "within" }, counted({ answer: answer("") }).perform)).isReplayed
      )
    }).pipe(Effect.provide(store))
  )

  it.effect("does not perform again what can't be opened any more", () =>
    Effect.gen(function* () {
      const keyed = yield* newKeyed({ keeping: "sealed" })
      const { perform, times } = counted({ answer: answer("secret") })
      const [former, latter] = [yield* withKey(7), yield* withKey(8)]
      yield* former.once(keyed, perform)
      assert.isTrue((yield* former.once(keyed, perform)).isReplayed)
      const error = yield* Effect.flip(latter.once(keyed, perform))
      assert.match(error.error, /its answer can't be opened any more/)
      assert.strictEqual(times(), 1)
    }).pipe(Effect.provide(store))
  )

  it.effect(
    "is in no transaction where the key is kept behind: of two at once both give the first answer",
    () =>
      Effect.gen(function* () {
        const { once } = yield* withKey(7)
        const { isOpen } = yield* Transaction
        const keyed = yield* newKeyed({ keeping: "behind" })
        const go = yield* Deferred.make<void>()
        let times = 0
        const perform = Effect.gen(function* () {
          assert.isFalse(yield* isOpen)
          const mine = ++times
          yield* Deferred.await(go)
          return { answer: answer(`${mine}`) }
        })
        const both = yield* Effect.forkChild(
          Effect.all([once(keyed, perform), once(keyed, perform)], { concurrency: 2 })
        )
        while (times < 2) yield* Effect.yieldNow
        yield* Deferred.succeed(go, undefined)
        const [one, two] = yield* Fiber.join(both)
        assert.deepStrictEqual(two.performed, one.performed)
        assert.deepStrictEqual((yield* once(keyed, perform)).performed, one.performed)
        assert.strictEqual(times, 2)
      }).pipe(Effect.provide(store))
  )
})

describe("the header", () => {
  it.each([
    ["k", "k"],
    [' "k" ', "k"],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['a"b', 'a"b'],
    ["~!", "~!"],
    ["", undefined],
    ['"', undefined],
    ['"a\\b"', undefined],
    ['"a";p=1', undefined],
    ["a\tb", undefined],
    ["k, k", undefined],
    ["k".repeat(256), undefined]
  ])("%s is the key %s", (header, key) => {
    assert.strictEqual(keyOfHeader(header), key)
  })
})

describe("a request", () => {
  it("is the same as a JSON value", () => {
    const body = (text: string) => requestText({}, JSON.parse(text))
    assert.strictEqual(
      body('{"b":[1.0,{"d":null,"c":"\\u0061"}],"a":true}'),
      body('{ "a": true, "b": [1, {"c":"a","d":null}]}')
    )
    const all = [
      "null",
      "{}",
      "[]",
      '""',
      "0",
      "[0]",
      '{"a":[]}',
      '{"a":null}',
      '{"__proto__":{"a":1}}',
      '{"__proto__":{"a":2}}',
      "[1,2]",
      "[2,1]"
    ]
    assert.strictEqual(new Set(all.map(body)).size, all.length)
    assert.notStrictEqual(requestText({ a: "1" }, null), requestText({}, { a: "1" }))
  })
})
