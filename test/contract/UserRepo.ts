import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Email } from "../../src/Schemas/User.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeUser, newUser } from "../support/Fixtures.ts"

export const suite = (it: It) =>
  describe("UserRepo", () => {
    it.effect("finds what was inserted, by id and by e-mail", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const user = yield* newUser
        const named = { ...user, email: `zoë.😀.${user.email}` as Email }
        yield* users.insert(named)
        assert.deepStrictEqual(yield* users.find(user.id), Option.some(named))
        assert.deepStrictEqual(yield* users.findByEmail(named.email), Option.some(named))
      })
    )

    it.effect("finds none where there is none", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const user = yield* newUser
        assert.deepStrictEqual(yield* users.find(user.id), Option.none())
        assert.deepStrictEqual(yield* users.findByEmail(user.email), Option.none())
      })
    )

    it.effect("refuses a second user of one e-mail, and keeps the first", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const first = yield* makeUser
        const second = { ...(yield* newUser), email: first.email }
        const error = yield* Effect.flip(users.insert(second))
        assert.strictEqual(error._tag, "AlreadyExists")
        assert.deepStrictEqual(yield* users.find(second.id), Option.none())
        assert.deepStrictEqual(yield* users.findByEmail(first.email), Option.some(first))
      })
    )

    it.effect("lets one of 20 users with one e-mail in at the same time", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const { email } = yield* newUser
        const rivals = yield* Effect.replicateEffect(newUser, 20)
        const outcomes = yield* Effect.forEach(
          rivals,
          (user) =>
            users.insert({ ...user, email }).pipe(
              Effect.as("inserted"),
              Effect.catchTag("AlreadyExists", () => Effect.succeed("refused"))
            ),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(outcomes.filter((outcome) => outcome === "inserted").length, 1)
        const winner = rivals[outcomes.indexOf("inserted")]
        assert.strictEqual(Option.getOrThrow(yield* users.findByEmail(email)).id, winner?.id)
      })
    )

    it.effect("counts users", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const before = yield* users.count
        yield* makeUser
        yield* makeUser
        assert.strictEqual(yield* users.count, before + 2)
      })
    )
  })
