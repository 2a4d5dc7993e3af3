import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { Inference } from "../../src/Services/Inference.ts"
import { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import { layerOver, makeTenant } from "../support/Service.ts"
import { isError, makeWeb } from "../support/Web.ts"

const layer = (env: Readonly<Record<string, string>>) =>
  layerOver(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { OPENAI_API_KEY: "o", ...env } })))

const listed = { AGENTD_MODELS: "openai/gpt-a,openai/gpt-b" }

describe("the operator's models over HTTP", () => {
  it.effect("are a 400 where a task names another one, unless a key of the workspace has it", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, user, workspaceId } = yield* makeTenant()
      const task = (wanted: object) =>
        send("POST", "/api/tasks", { token, json: { workspaceId, prompt: "p", ...wanted } })
      const sentence =
        "selectedModel: without a provider key of the workspace there are gpt-a (openai), gpt-b (openai)"
      isError(yield* task({ selectedModel: "gpt-c" }), 400, "invalid_input", sentence)
      isError(
        yield* task({ selectedProvider: "openai", selectedModel: "gpt-c" }),
        400,
        "invalid_input",
        sentence
      )
      for (const wanted of [
        { selectedModel: "gpt-b" },
        { selectedProvider: "openai" },
        { selectedProvider: "offline", selectedModel: "gpt-c" }
      ]) {
        assert.strictEqual((yield* task(wanted)).status, 201)
      }
      const { id } = yield* (yield* ProviderKeys).create(user, {
        workspaceId,
        name: "own",
        provider: "openai",
        model: "gpt-own",
        apiKey: "own"
      })
      for (const wanted of [{ selectedModel: "gpt-c" }, { providerKeyId: id, selectedModel: "gpt-c" }]) {
        assert.strictEqual((yield* task(wanted)).status, 201)
      }
    }).pipe(Effect.provide(layer(listed)))
  )

  it.effect("are any where there is no list", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const json = { workspaceId, prompt: "p", selectedModel: "gpt-c" }
      assert.strictEqual((yield* send("POST", "/api/tasks", { token, json })).status, 201)
    }).pipe(Effect.provide(layer({})))
  )

  it.effect("are looked at again when a model is asked: a choice of before the list is refused", () =>
    Effect.gen(function* () {
      const { workspaceId } = yield* makeTenant()
      const inference = yield* Inference
      const choice = {
        workspaceId,
        providerKeyId: null,
        provider: "openai",
        model: "gpt-c",
        agentKeyId: null
      }
      const refused = yield* Effect.flip(inference.model(choice))
      assert.deepInclude(refused, {
        reason: "bad_request",
        error:
          "selectedModel: without a provider key of the workspace there are gpt-a (openai), gpt-b (openai)"
      })
      const { answeredBy } = yield* inference.model({ ...choice, model: null })
      assert.deepStrictEqual(answeredBy, { provider: "openai", model: "gpt-a", providerKeyId: null })
    }).pipe(Effect.provide(layer(listed)))
  )
})
