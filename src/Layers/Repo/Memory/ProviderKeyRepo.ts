import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ProviderKeyRepo } from "../../../Services/ProviderKeyRepo.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  ProviderKeyRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { providerKeys } = tables
    return guard(
      ProviderKeyRepo.of({
        insert: (key) => Effect.sync(() => void providerKeys.set(key.id, key)),
        find: (id) => Effect.sync(() => Option.fromNullishOr(providerKeys.get(id)))
      })
    )
  })
)
