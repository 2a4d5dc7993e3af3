import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Projects } from "../../Services/Projects.ts"
import { data } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "projects",
  Effect.fn(function* (handlers) {
    const projects = yield* Projects
    return handlers.handleAll({
      list: ({ query }) => data((user) => projects.list(user, query.workspaceId)),
      create: ({ payload }) => data((user) => projects.create(user, payload))
    })
  })
)
