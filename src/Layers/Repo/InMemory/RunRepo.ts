import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RunRepo } from "../../../Services/RunRepo.ts"
import * as Claims from "./RunRepo/Claims.ts"
import * as Due from "./RunRepo/Due.ts"
import * as Ends from "./RunRepo/Ends.ts"
import * as Lists from "./RunRepo/Lists.ts"
import * as Losses from "./RunRepo/Losses.ts"
import * as Prune from "./RunRepo/Prune.ts"
import * as Retry from "./RunRepo/Retry.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { inputs, runs } = tables
    return guard(
      RunRepo.of({
        ...Claims.make(tables),
        ...Losses.make(tables),
        ...Ends.make(tables),
        ...Lists.make(tables),
        ...Prune.make(tables),
        ...Retry.make(tables),
        ...Due.make(tables),
        find: (id) => Effect.sync(() => Option.fromNullishOr(runs.get(id))),
        input: (id) => Effect.sync(() => Option.fromNullishOr(inputs.get(id)))
      })
    )
  })
)
