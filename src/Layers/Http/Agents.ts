import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Agent } from "../../Schemas/Agent.ts"
import { Agents } from "../../Services/Agents.ts"
import { Policies } from "../../Services/Policies.ts"
import { data, removal } from "./Data.ts"
import { listing } from "./Listing.ts"

const list = listing(Agent)

export const layer = HttpApiBuilder.group(
  Api,
  "agents",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    const policies = yield* Policies
    return handlers.handleAll({
      create: ({ payload }) => data((user) => agents.create(user, payload)),
      list: ({ query }) => list((user) => agents.list(user, query)),
      get: ({ params }) => data((user) => agents.get(user, params.id)),
      update: ({ params, payload }) => data((user) => agents.update(user, params.id, payload)),
      policy: ({ params }) => data((user) => policies.ofAgent(user, params.id)),
      setPolicy: ({ params, payload }) => data((user) => policies.setOfAgent(user, params.id, payload)),
      remove: ({ params }) => removal((user) => agents.remove(user, params.id))
    })
  })
)
