import { Chat } from "@ai-sdk/react"
import { assert, describe, it } from "@effect/vitest"
import { DefaultChatTransport, type UIMessage } from "ai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { layerScripted, makeTenant, ScriptedModel, says } from "../../support/Service.ts"
import { makeWeb } from "../../support/Web.ts"

describe("the UI message stream", () => {
  it.live("answers useChat", () =>
    Effect.gen(function* () {
      const { handler } = yield* makeWeb
      const { token } = yield* makeTenant()
      const model = yield* ScriptedModel
      model.script = () => Stream.fromIterable(says("Hel", "lo"))
      const chat = new Chat<UIMessage>({
        id: "mine",
        transport: new DefaultChatTransport({
          api: "http://agentd.test/api/ui/default/chat",
          headers: { authorization: `Bearer ${token}` },
          fetch: (url, init) => handler(new Request(url as string, init))
        })
      })
      yield* Effect.promise(() => chat.sendMessage({ text: "Hi" }))
      assert.isUndefined(chat.error)
      console.log(JSON.stringify(chat.messages, null, 1))
    }).pipe(Effect.provide(layerScripted()))
  )
})
