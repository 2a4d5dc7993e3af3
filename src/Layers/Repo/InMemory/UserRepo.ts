import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { AlreadyExists } from "../../../Schemas/Errors.ts"
import { emailOfGone, type User, type UserRecord } from "../../../Schemas/User.ts"
import { UserRepo } from "../../../Services/UserRepo.ts"
import { pageOf } from "./Order.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  UserRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { gone, users } = tables
    const present = (user: UserRecord | undefined) =>
      Option.filter(Option.fromNullishOr(user), ({ id }) => !gone.has(id))
    const byEmail = (email: string) => Array.from(users.values()).find((user) => user.email === email)
    return guard(
      UserRepo.of({
        insert: (user) =>
          Effect.suspend(() => {
            if (byEmail(user.email) !== undefined) {
              return new AlreadyExists({ error: "email: a user with this e-mail exists" })
            }
            users.set(user.id, { ...user, disabledAt: null })
            return Effect.void
          }),
        find: (id) => Effect.sync(() => Option.map(present(users.get(id)), toUser)),
        findByEmail: (email) => Effect.sync(() => Option.map(present(byEmail(email)), toUser)),
        page: (range) =>
          Effect.sync(() =>
            pageOf(
              Array.from(users.values()).filter(({ id }) => !gone.has(id)),
              range
            )
          ),
        setDisabled: (id, at) =>
          Effect.sync(() =>
            Option.map(present(users.get(id)), (user) => {
              const changed = { ...user, disabledAt: at && (user.disabledAt ?? at) }
              users.set(id, changed)
              return changed
            })
          ),
        remove: (id, at) =>
          Effect.sync(() =>
            Option.isSome(
              Option.map(present(users.get(id)), (user) => {
                gone.set(id, at)
                users.set(id, { ...user, email: emailOfGone(id), disabledAt: user.disabledAt ?? at })
              })
            )
          ),
        count: Effect.sync(() => users.size)
      })
    )
  })
)

export const toUser = ({ createdAt, email, id }: UserRecord): User => ({ id, email, createdAt })
