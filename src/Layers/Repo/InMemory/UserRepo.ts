import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { AlreadyExists } from "../../../Schemas/Errors.ts"
import { UserRepo } from "../../../Services/UserRepo.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  UserRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { users } = tables
    const byEmail = (email: string) =>
      Option.fromNullishOr(Array.from(users.values()).find((user) => user.email === email))
    return guard(
      UserRepo.of({
        insert: (user) =>
          Effect.suspend(() => {
            if (Option.isSome(byEmail(user.email))) {
              return new AlreadyExists({ error: "email: a user with this e-mail exists" })
            }
            users.set(user.id, user)
            return Effect.void
          }),
        find: (id) => Effect.sync(() => Option.fromNullishOr(users.get(id))),
        findByEmail: (email) => Effect.sync(() => byEmail(email)),
        count: Effect.sync(() => users.size)
      })
    )
  })
)
