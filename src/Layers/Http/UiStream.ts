import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { onFirstUse } from "./Faces/Load.ts"
import { answered } from "./TurnFace.ts"

interface Chat {
  readonly params: { readonly agentId: string; readonly chat: string }
  readonly headers: { readonly "x-workspace-id"?: string }
}

const named = ({ headers, params }: Chat) => ({ ...params, workspaceHeader: headers["x-workspace-id"] })

/** The face of the AI SDK's UI, which loads when it is first asked (CONTRACT.md section 14). */
export const layer = HttpApiBuilder.group(
  Api,
  "uiStream",
  Effect.fn(function* (handlers) {
    const chats = yield* onFirstUse(() => import("./Faces/UiStream/Chat.ts"))
    return handlers.handleAll({
      send: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const request = { params, payload, workspaceHeader: headers["x-workspace-id"] }
        return yield* answered(yield* chats, yield* CurrentUser, request)
      }),
      resume: Effect.fnUntraced(function* (chat) {
        return yield* (yield* chats).resume(yield* CurrentUser, named(chat))
      }),
      messages: Effect.fnUntraced(function* (chat) {
        return yield* (yield* chats).messages(yield* CurrentUser, named(chat))
      }),
      stop: Effect.fnUntraced(function* (chat) {
        return yield* (yield* chats).stop(yield* CurrentUser, named(chat))
      })
    })
  })
)
