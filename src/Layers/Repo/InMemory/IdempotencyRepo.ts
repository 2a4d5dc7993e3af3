import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { now } from "../../../Services/CurrentTime.ts"
import { IdempotencyRepo, type NewIdempotencyKey } from "../../../Services/IdempotencyRepo.ts"
import { inOrder } from "./Order.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  IdempotencyRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { idempotencyKeys } = tables

    const find = (id: string) =>
      Effect.map(now, (at) =>
        Option.filter(Option.fromNullishOr(idempotencyKeys.get(id)), ({ expiresAt }) => expiresAt > at)
      )

    const put = (key: NewIdempotencyKey, millis: number) =>
      Effect.map(now, (createdAt) => {
        const expiresAt = new Date(createdAt.getTime() + millis)
        idempotencyKeys.set(key.id, { ...key, createdAt, expiresAt })
      })

    return guard(
      IdempotencyRepo.of({
        // There is one transaction at a time.
        take: (id) => Effect.map(find(id), (known) => ({ isFree: true, known })),
        find,
        insert: (key, millis) =>
          Effect.gen(function* () {
            if (Option.isSome(yield* find(key.id))) return false
            yield* put(key, millis)
            return true
          }),
        replace: put,
        removeOf: (userId) =>
          Effect.sync(() => {
            for (const key of idempotencyKeys.values())
              if (key.userId === userId) idempotencyKeys.delete(key.id)
          }),
        prune: (limit) =>
          Effect.map(now, (at) => {
            const old = Array.from(idempotencyKeys.values())
              .filter(({ expiresAt }) => expiresAt <= at)
              .sort(inOrder("expiresAt"))
              .slice(0, limit)
            for (const { id } of old) idempotencyKeys.delete(id)
            return old.length
          })
      })
    )
  })
)
