import * as Effect from "effect/Effect"
import OpenAI, { APIError, type ClientOptions } from "openai"
import { makeTenant, ScriptedModel } from "./Service.ts"
import { makeWeb } from "./Web.ts"

/** OpenAI's own client, unchanged, over the whole HTTP pipeline without a socket, and a model that the test scripts. */
export const makeOpenAi = Effect.gen(function* () {
  const web = yield* makeWeb
  const tenant = yield* makeTenant()
  const model = yield* ScriptedModel
  const clientOf = (options: ClientOptions = {}) =>
    new OpenAI({
      apiKey: tenant.token,
      baseURL: "http://agentd.test/v1",
      fetch: web.fetch,
      maxRetries: 0,
      ...options
    })
  return { ...web, ...tenant, model, clientOf, client: clientOf() }
})

/** How the client was refused. */
export const refusal = <A>(request: () => PromiseLike<A>) =>
  Effect.promise(async () => {
    try {
      await request()
    } catch (error) {
      if (error instanceof APIError) return error
      throw error
    }
    throw new Error("the request was answered")
  })

export const collected = <A>(stream: () => PromiseLike<AsyncIterable<A>>) =>
  Effect.promise(async () => {
    const all: Array<A> = []
    for await (const one of await stream()) all.push(one)
    return all
  })
