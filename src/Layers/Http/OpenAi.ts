import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { onFirstUse } from "./Faces/Load.ts"
import { answered } from "./TurnFace.ts"

const workspaceOf = (headers: { readonly "x-workspace-id"?: string }) => headers["x-workspace-id"]

/** The face of OpenAI, which loads when it is first asked (CONTRACT.md section 14). */
export const layer = HttpApiBuilder.group(
  Api,
  "openAi",
  Effect.fn(function* (handlers) {
    const models = yield* onFirstUse(() => import("./Faces/OpenAi/Models.ts"))
    const completions = yield* onFirstUse(() => import("./Faces/OpenAi/Completions.ts"))
    const responses = yield* onFirstUse(() => import("./Faces/OpenAi/Responses.ts"))
    return handlers.handleAll({
      listModels: Effect.fnUntraced(function* ({ headers, query }) {
        return yield* (yield* models).list(yield* CurrentUser, workspaceOf(headers), query)
      }),
      getModel: Effect.fnUntraced(function* ({ headers, params }) {
        return yield* (yield* models).get(yield* CurrentUser, params.model, workspaceOf(headers))
      }),
      createChatCompletion: Effect.fnUntraced(function* ({ headers, payload }) {
        const request = { params: {}, payload, workspaceHeader: workspaceOf(headers) }
        return yield* answered(yield* completions, yield* CurrentUser, request)
      }),
      createResponse: Effect.fnUntraced(function* ({ headers, payload }) {
        const request = { params: {}, payload, workspaceHeader: workspaceOf(headers) }
        return yield* answered(yield* responses, yield* CurrentUser, request)
      }),
      getResponse: Effect.fnUntraced(function* ({ params, query }) {
        return yield* (yield* responses).get(yield* CurrentUser, params.id, query)
      }),
      cancelResponse: Effect.fnUntraced(function* ({ params }) {
        return yield* (yield* responses).cancel(yield* CurrentUser, params.id)
      }),
      deleteResponse: Effect.fnUntraced(function* ({ params }) {
        return yield* (yield* responses).remove(yield* CurrentUser, params.id)
      })
    })
  })
)
