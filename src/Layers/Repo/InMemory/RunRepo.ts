import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RunRepo } from "../../../Services/RunRepo.ts"
import { inOrder } from "./Order.ts"
import * as Claims from "./RunRepo/Claims.ts"
import * as Ends from "./RunRepo/Ends.ts"
import * as Losses from "./RunRepo/Losses.ts"
import * as Prune from "./RunRepo/Prune.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { runs } = tables
    return guard(
      RunRepo.of({
        ...Claims.make(tables),
        ...Losses.make(tables),
        ...Ends.make(tables),
        ...Prune.make(tables),
        find: (id) => Effect.sync(() => Option.fromNullishOr(runs.get(id))),
        list: ({ agentId, cronJobId, limit, offset, projectId, status, workspaceId }) =>
          Effect.sync(() => {
            const matching = Array.from(runs.values())
              .filter((run) => run.turn === null && run.workspaceId === workspaceId)
              .filter((run) => projectId === undefined || run.projectId === projectId)
              .filter((run) => status === undefined || run.status === status)
              .filter((run) => agentId === undefined || run.agentId === agentId)
              .filter((run) => cronJobId === undefined || run.cronJobId === cronJobId)
              .sort(inOrder("createdAt"))
              .reverse()
            return { runs: matching.slice(offset, offset + limit), total: matching.length }
          })
      })
    )
  })
)
