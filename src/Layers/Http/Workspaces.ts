import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Budgets } from "../../Services/Budgets.ts"
import { Quotas } from "../../Services/Quotas.ts"
import { Workspaces } from "../../Services/Workspaces.ts"
import { data, removal } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "workspaces",
  Effect.fn(function* (handlers) {
    const budgets = yield* Budgets
    const quotas = yield* Quotas
    const workspaces = yield* Workspaces
    return handlers.handleAll({
      list: () => data(workspaces.list),
      create: ({ payload }) => data((user) => workspaces.create(user, payload)),
      get: ({ params }) => data((user) => workspaces.get(user, params.id)),
      update: ({ params, payload }) => data((user) => workspaces.update(user, params.id, payload)),
      usage: ({ params }) => data((user) => quotas.usage(user, params.id)),
      budget: ({ params }) => data((user) => budgets.get(user, params.id)),
      putBudget: ({ params, payload }) => data((user) => budgets.put(user, params.id, payload)),
      members: ({ params }) => data((user) => workspaces.members(user, params.id)),
      addMember: ({ params, payload }) => data((user) => workspaces.addMember(user, params.id, payload)),
      removeMember: ({ params }) => removal((user) => workspaces.removeMember(user, params.id, params.userId))
    })
  })
)
