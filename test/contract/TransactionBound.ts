import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeUser, newUser } from "../support/Fixtures.ts"

/** What this limit ends by mistake on a machine that is busy is tried again. */
const patiently = Effect.retry({ while: (error) => error instanceof Unavailable })

/** To run with a short `databaseTimeoutMillis`. */
export const suite = (it: It) =>
  describe("Transaction, bounded", () => {
    it.effect("is Unavailable when it takes too long, undone, and lets the next one in", () =>
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const users = yield* UserRepo
        const user = yield* newUser
        const error = yield* Effect.flip(
          transaction.atomically(Effect.andThen(users.insert(user), Effect.never))
        )
        assert.instanceOf(error, Unavailable)
        assert.deepStrictEqual(yield* patiently(users.find(user.id)), Option.none())
        const next = yield* patiently(transaction.atomically(makeUser))
        assert.deepStrictEqual(yield* patiently(users.find(next.id)), Option.some(next))
      })
    )
  })
