import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { UserId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { DatabaseHealth } from "../../src/Services/DatabaseHealth.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeUser, makeWorkspace, newUser } from "../support/Fixtures.ts"

const exists = (id: UserId) => Effect.flatMap(UserRepo, (users) => Effect.map(users.find(id), Option.isSome))

export const suite = (it: It) =>
  describe("Transaction", () => {
    it.effect("keeps all calls of an effect that succeeds, and gives its value", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const [one, two] = yield* transaction.atomically(Effect.all([makeUser, makeUser]))
        assert.isTrue(yield* exists(one.id))
        assert.isTrue(yield* exists(two.id))
      })
    )

    it.effect("reads within it what it has written", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const found = yield* transaction.atomically(Effect.flatMap(makeUser, ({ id }) => exists(id)))
        assert.isTrue(found)
      })
    )

    it.effect("rolls back on a failure, and gives it", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const user = yield* newUser
        const agent = yield* makeAgent(yield* makeWorkspace)
        const agents = yield* AgentRepo
        const error = yield* Effect.flip(
          transaction.atomically(
            Effect.gen(function* () {
              yield* (yield* UserRepo).insert(user)
              yield* agents.update(agent.id, { name: "Changed" }, at(1))
              return yield* Effect.fail("no" as const)
            })
          )
        )
        assert.strictEqual(error, "no")
        assert.isFalse(yield* exists(user.id))
        assert.deepStrictEqual(yield* agents.find(agent.id), Option.some(agent))
      })
    )

    it.effect("rolls back on a defect, and gives it", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const user = yield* newUser
        const defect = new Error("boom")
        const exit = yield* Effect.exit(
          transaction.atomically(
            Effect.flatMap(UserRepo, (users) => Effect.andThen(users.insert(user), Effect.die(defect)))
          )
        )
        assert.deepStrictEqual(exit, Exit.die(defect))
        assert.isFalse(yield* exists(user.id))
      })
    )

    it.effect("rolls back on an interruption, and lets the next one in", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const user = yield* newUser
        const inserted = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          transaction.atomically(
            Effect.gen(function* () {
              yield* (yield* UserRepo).insert(user)
              yield* Deferred.succeed(inserted, undefined)
              return yield* Effect.never
            })
          )
        )
        yield* Deferred.await(inserted)
        yield* Fiber.interrupt(fiber)
        assert.isFalse(yield* exists(user.id))
        assert.isTrue(yield* exists((yield* transaction.atomically(makeUser)).id))
      })
    )

    it.effect("joins the outer one when nested: the end of the outer decides", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const [inner, outer] = [yield* newUser, yield* newUser]
        const users = yield* UserRepo
        const both = Effect.andThen(transaction.atomically(users.insert(inner)), users.insert(outer))
        yield* Effect.flip(transaction.atomically(Effect.andThen(both, Effect.fail("no"))))
        assert.isFalse(yield* exists(inner.id))
        assert.isFalse(yield* exists(outer.id))
        yield* transaction.atomically(both)
        assert.isTrue(yield* exists(inner.id))
        assert.isTrue(yield* exists(outer.id))
      })
    )

    it.effect("undoes a nested one that failed, and can go on", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const [inner, outer] = [yield* newUser, yield* newUser]
        const users = yield* UserRepo
        yield* transaction.atomically(
          Effect.gen(function* () {
            yield* users.insert(outer)
            yield* transaction
              .atomically(Effect.andThen(users.insert(inner), Effect.fail("no")))
              .pipe(Effect.catchTag("Unavailable", Effect.die), Effect.ignore)
          })
        )
        assert.isTrue(yield* exists(outer.id))
        assert.isFalse(yield* exists(inner.id))
      })
    )

    it.effect("undoes nothing that others wrote in the meantime", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const users = yield* UserRepo
        const [mine, foreign] = [yield* newUser, yield* newUser]
        const [inserted, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const failing = yield* Effect.forkChild(
          transaction.atomically(
            Effect.gen(function* () {
              yield* users.insert(mine)
              yield* Deferred.succeed(inserted, undefined)
              yield* Deferred.await(go)
              return yield* Effect.fail("no")
            })
          )
        )
        yield* Deferred.await(inserted)
        const other = yield* Effect.forkChild(users.insert(foreign), { startImmediately: true })
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.await(failing)
        yield* Fiber.join(other)
        assert.isFalse(yield* exists(mine.id))
        assert.isTrue(yield* exists(foreign.id))
      })
    )

    it.effect("keeps both of two that read and write at the same time", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const made = yield* Effect.all(
          Array.from({ length: 10 }, () => transaction.atomically(makeUser)),
          { concurrency: "unbounded" }
        )
        const found = yield* Effect.forEach(made, ({ id }) => exists(id))
        assert.deepStrictEqual(
          found,
          found.map(() => true)
        )
      })
    )

    it.effect("finds a store that answers in health", () =>
      Effect.gen(function* () {
        yield* (yield* DatabaseHealth).check
      })
    )
  })
