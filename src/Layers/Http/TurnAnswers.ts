import * as Effect from "effect/Effect"
import { answer, eventStream } from "./EventStream.ts"
import { onFirstUse } from "./Faces/Load.ts"
import type { BegunTurn, TurnRequest } from "./TurnFace.ts"

/** How each endpoint that begins a turn answers out of one. */
export const make = Effect.gen(function* () {
  const completions = yield* onFirstUse(() => import("./Faces/OpenAi/Completions.ts"))
  const responses = yield* onFirstUse(() => import("./Faces/OpenAi/Responses.ts"))
  const ui = yield* onFirstUse(() => import("./Faces/UiStream/Chat.ts"))
  return (endpoint: string, turn: BegunTurn, request: TurnRequest) => {
    switch (endpoint) {
      case "openAi.createChatCompletion":
        return Effect.flatMap(completions, (face) => face.answer(turn, request))
      case "openAi.createResponse":
        return Effect.flatMap(responses, (face) => face.answer(turn, request))
      case "uiStream.send":
        return Effect.flatMap(ui, (face) => face.answer(turn, request))
      default:
        return answer((context) => eventStream(turn.events, context))
    }
  }
})
