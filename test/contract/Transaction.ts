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
        assert.deepStrictEqual(yield* agents.find(agent.id), Option.some({ ...agent, policy: null }))
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

    it.effect(
      "does after the commit what is to be done then, in its order, and says whether it is open",
      () =>
        Effect.gen(function* () {
          const { afterCommit, atomically, isOpen } = yield* Transaction
          const [first, second] = [yield* newUser, yield* newUser]
          const users = yield* UserRepo
          const done: Array<string> = []
          // Asks anew, on a connection of its own: it is there for everybody.
          const later = (name: string, id: UserId) =>
            afterCommit(
              Effect.gen(function* () {
                done.push(`${name} ${yield* isOpen} ${yield* Effect.orDie(exists(id))}`)
              })
            )
          yield* atomically(
            Effect.gen(function* () {
              yield* users.insert(first)
              yield* later("first", first.id)
              yield* atomically(Effect.andThen(users.insert(second), later("second", second.id)))
              assert.isTrue(yield* isOpen)
              assert.deepStrictEqual(done, [])
            })
          )
          assert.deepStrictEqual(done, ["first false true", "second false true"])
          assert.isFalse(yield* isOpen)
          yield* later("third", first.id)
          assert.strictEqual(done.at(-1), "third false true")
        })
    )

    it.effect("does nothing of what was rolled back, also of a nested one alone", () =>
      Effect.gen(function* () {
        const { afterCommit, atomically } = yield* Transaction
        const done: Array<string> = []
        const later = (name: string) => afterCommit(Effect.sync(() => void done.push(name)))
        const failing = (name: string) =>
          Effect.ignore(atomically(Effect.andThen(later(name), Effect.fail("no"))))
        yield* failing("never")
        yield* atomically(
          Effect.gen(function* () {
            yield* later("before")
            yield* failing("nested")
            yield* later("behind")
            yield* afterCommit(Effect.die("boom"))
            yield* later("last")
          })
        )
        assert.deepStrictEqual(done, ["before", "behind", "last"])
        yield* Effect.ignore(atomically(Effect.andThen(atomically(later("inner")), Effect.fail("no"))))
        assert.lengthOf(done, 3)
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
