import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId } from "../../src/Schemas/Ids.ts"
import type { Email } from "../../src/Schemas/User.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, newId, newUser } from "../support/Fixtures.ts"

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

    it.effect("gives users a page at a time, by id, each once", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const made = yield* Effect.replicateEffect(makeUser, 5)
        const before = (yield* users.page({ after: null, limit: 1_000 })).filter(({ id }) =>
          made.every((user) => id < user.id)
        )
        const start = before.at(-1)?.id ?? null
        const first = yield* users.page({ after: start, limit: 2 })
        const second = yield* users.page({ after: first[1]?.id ?? null, limit: 2 })
        const last = yield* users.page({ after: second[1]?.id ?? null, limit: 1_000 })
        assert.deepStrictEqual(
          [...first, ...second, ...last].slice(0, 5),
          made.map((user) => ({ ...user, disabledAt: null }))
        )
        assert.strictEqual(second.length, 2)
      })
    )

    it.effect("disables one user, keeps the first moment of it, and lets it in again", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const [user, other] = [yield* makeUser, yield* makeUser]
        const disabled = { ...user, disabledAt: at(5) }
        assert.deepStrictEqual(yield* users.setDisabled(user.id, at(5)), Option.some(disabled))
        assert.deepStrictEqual(yield* users.setDisabled(user.id, at(9)), Option.some(disabled))
        const page = yield* users.page({ after: null, limit: 1_000 })
        assert.deepStrictEqual(
          page.filter(({ id }) => id === user.id || id === other.id),
          [disabled, { ...other, disabledAt: null }]
        )
        assert.deepStrictEqual(yield* users.find(user.id), Option.some(user))
        assert.deepStrictEqual(
          yield* users.setDisabled(user.id, null),
          Option.some({ ...user, disabledAt: null })
        )
        assert.deepStrictEqual(yield* users.setDisabled(yield* newId<UserId>("user"), at()), Option.none())
      })
    )

    it.effect("forgets a user, whose e-mail is free then, and none of the others", () =>
      Effect.gen(function* () {
        const users = yield* UserRepo
        const [user, other] = [yield* makeUser, yield* makeUser]
        const before = yield* users.count
        assert.isTrue(yield* users.remove(user.id, at(5)))
        assert.isFalse(yield* users.remove(user.id, at(6)))
        assert.isFalse(yield* users.remove(yield* newId<UserId>("user"), at()))
        assert.deepStrictEqual(yield* users.find(user.id), Option.none())
        assert.deepStrictEqual(yield* users.findByEmail(user.email), Option.none())
        assert.deepStrictEqual(yield* users.findByEmail(`${user.id}@deleted.invalid` as Email), Option.none())
        assert.deepStrictEqual(yield* users.setDisabled(user.id, null), Option.none())
        const ids = (yield* users.page({ after: null, limit: 1_000 })).map(({ id }) => id)
        assert.notInclude(ids, user.id)
        assert.include(ids, other.id)
        const heir = { ...(yield* newUser), email: user.email }
        yield* users.insert(heir)
        assert.deepStrictEqual(yield* users.findByEmail(user.email), Option.some(heir))
        assert.strictEqual(yield* users.count, before + 1)
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
