import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { RunId, UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { IdempotencyRepo, type NewIdempotencyKey } from "../../src/Services/IdempotencyRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import type { It } from "../support/Backends.ts"
import { newId } from "../support/Fixtures.ts"

const hour = 3_600_000

const newKey = Effect.fnUntraced(function* (given: Partial<NewIdempotencyKey> = {}) {
  const key: NewIdempotencyKey = {
    id: `digest ${yield* newId("request")}`,
    userId: yield* newId<UserId>("user"),
    workspaceId: null,
    request: "asked",
    answer: '{"body":"\\u0000é"}',
    sealed: null,
    turnId: null,
    ...given
  }
  return key
})

const isKnown = (id: string) =>
  Effect.flatMap(IdempotencyRepo, (repo) => Effect.map(repo.find(id), Option.isSome))

export const suite = (it: It) =>
  describe("IdempotencyRepo", () => {
    it.effect("keeps what was answered for as long as it is told, also a turn and what is sealed", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const turnId = yield* newId<RunId>("turn")
        const keys = [
          yield* newKey(),
          yield* newKey({ workspaceId: yield* newId<WorkspaceId>("workspace") }),
          yield* newKey({ answer: null, sealed: "v1:sealed" }),
          yield* newKey({ answer: null, turnId }),
          yield* newKey({ answer: null })
        ]
        for (const key of keys) {
          assert.isTrue(yield* repo.insert(key, hour))
          const { createdAt, expiresAt, ...found } = Option.getOrThrow(yield* repo.find(key.id))
          assert.deepStrictEqual(found, key)
          assert.strictEqual(Math.round((expiresAt.getTime() - createdAt.getTime()) / 1000), hour / 1000)
        }
        assert.isFalse(yield* isKnown("digest of none"))
      })
    )

    it.effect("changes nothing of a key that is known; one that is expired is free", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const key = yield* newKey()
        assert.isTrue(yield* repo.insert(key, 0))
        assert.isFalse(yield* isKnown(key.id))
        assert.isTrue(yield* repo.insert({ ...key, request: "second" }, hour))
        assert.isFalse(yield* repo.insert({ ...key, request: "third" }, hour))
        assert.strictEqual(Option.getOrThrow(yield* repo.find(key.id)).request, "second")
      })
    )

    it.effect("replaces what is known of a key, and for how long", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const key = yield* newKey()
        yield* repo.replace(key, hour)
        const turnId = yield* newId<RunId>("turn")
        yield* repo.replace({ ...key, answer: null, turnId }, 2 * hour)
        const { createdAt, expiresAt, ...found } = Option.getOrThrow(yield* repo.find(key.id))
        assert.deepStrictEqual(found, { ...key, answer: null, turnId })
        assert.strictEqual(Math.round((expiresAt.getTime() - createdAt.getTime()) / 1000), (2 * hour) / 1000)
        assert.isFalse(yield* repo.insert(key, hour))
        yield* repo.replace(key, 0)
        assert.isFalse(yield* isKnown(key.id))
      })
    )

    it.effect("gives a key to one transaction, and what it is known for to the next", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const { atomically } = yield* Transaction
        const key = yield* newKey()
        const first = yield* atomically(Effect.tap(repo.take(key.id), () => repo.insert(key, hour)))
        assert.deepStrictEqual(first, { isFree: true, known: Option.none() })
        const second = yield* atomically(repo.take(key.id))
        assert.isTrue(second.isFree)
        assert.strictEqual(Option.getOrThrow(second.known).answer, key.answer)
      })
    )

    it.effect("keeps nothing of a transaction that is rolled back", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const { atomically } = yield* Transaction
        const key = yield* newKey()
        const failing = Effect.andThen(repo.insert(key, hour), Effect.fail("no"))
        yield* Effect.flip(atomically(Effect.andThen(repo.take(key.id), failing)))
        assert.isFalse(yield* isKnown(key.id))
        assert.isTrue((yield* atomically(repo.take(key.id))).isFree)
      })
    )

    it.effect("never gives a key to two at once, whether the second one waits or is told", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const { atomically } = yield* Transaction
        const key = yield* newKey()
        const [taken, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holding = yield* Effect.forkChild(
          atomically(
            Effect.gen(function* () {
              yield* repo.take(key.id)
              yield* Deferred.succeed(taken, undefined)
              yield* Deferred.await(go)
              yield* repo.insert(key, hour)
            })
          )
        )
        yield* Deferred.await(taken)
        const second = yield* Effect.forkChild(atomically(repo.take(key.id)), { startImmediately: true })
        // Of another key nobody has to wait longer than for the store.
        const other = yield* Effect.forkChild(atomically(repo.take(`${key.id} other`)))
        for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow
        const early = second.pollUnsafe()
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.join(holding)
        const { isFree, known } = yield* Fiber.join(second)
        assert.isTrue(early === undefined || !isFree)
        assert.strictEqual(Option.isSome(known), isFree)
        assert.isTrue((yield* Fiber.join(other)).isFree)
      })
    )

    it.effect("forgets those of a user, and no others", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const [mine, other] = [yield* newKey(), yield* newKey()]
        for (const key of [mine, other]) yield* repo.insert(key, hour)
        yield* repo.removeOf(mine.userId)
        assert.deepStrictEqual([yield* isKnown(mine.id), yield* isKnown(other.id)], [false, true])
      })
    )

    it.effect("forgets what is expired, up to a number, and nothing else", () =>
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        yield* repo.prune(1_000)
        const kept = yield* newKey()
        yield* repo.insert(kept, hour)
        for (let n = 0; n < 3; n++) yield* repo.insert(yield* newKey(), 0)
        assert.strictEqual(yield* repo.prune(2), 2)
        assert.strictEqual(yield* repo.prune(2), 1)
        assert.strictEqual(yield* repo.prune(2), 0)
        assert.isTrue(yield* isKnown(kept.id))
      })
    )
  })
