import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import OpenAI from "openai"
import { layerScripted, makeTenant, ScriptedModel, says } from "../../../support/Service.ts"
import { makeWeb } from "../../../support/Web.ts"

const subject = Effect.gen(function* () {
  const web = yield* makeWeb
  const tenant = yield* makeTenant()
  const model = yield* ScriptedModel
  const client = new OpenAI({
    apiKey: tenant.token,
    baseURL: "http://agentd.test/v1",
    fetch: web.fetch,
    maxRetries: 0
  })
  return { ...web, ...tenant, client, model }
})

const hello = { model: "default", messages: [{ role: "user" as const, content: "hello" }] }

describe("POST /v1/chat/completions", () => {
  it.effect("answers", () =>
    Effect.gen(function* () {
      const { client, model } = yield* subject
      model.script = () => Stream.fromIterable(says("Hel", "lo"))
      const whole = yield* Effect.promise(() => client.chat.completions.create(hello))
      console.log(JSON.stringify(whole))
      const chunks = yield* Effect.promise(async () => {
        const seen: Array<unknown> = []
        for await (const chunk of await client.chat.completions.create({
          ...hello,
          stream: true,
          stream_options: { include_usage: true }
        }))
          seen.push(chunk)
        return seen
      })
      for (const chunk of chunks) console.log(JSON.stringify(chunk))
    }).pipe(Effect.provide(layerScripted()))
  )
})
