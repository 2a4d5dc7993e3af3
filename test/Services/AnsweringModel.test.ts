import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ProviderKeyId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { InferenceError } from "../../src/Schemas/Inference.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { collect } from "../support/ChatEvents.ts"
import { ended, start } from "../support/Engine.ts"
import { layerOffline, layerScripted, makeTenant, ScriptedModel } from "../support/Service.ts"

const unknown = { provider: null, model: null, providerKeyId: null }

/** Its model, as callers see it. */
const modelOf = Effect.fnUntraced(function* (user: Parameters<Runs["Service"]["get"]>[0], id: RunId) {
  const { model, provider, providerKeyId } = yield* Runs.use((runs) => runs.get(user, id))
  return { provider, model, providerKeyId }
})

const makeKey = (user: Parameters<Runs["Service"]["get"]>[0], workspaceId: WorkspaceId) =>
  Effect.map(
    ProviderKeys.use((keys) =>
      keys.create(user, { workspaceId, name: "k", provider: "offline", model: "mine" })
    ),
    ({ id }) => id
  )

describe("which model answered", () => {
  it.effect("a task: unknown first, then what answered, also when its key is gone", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { user, workspaceId } = yield* makeTenant()
      const waiting = yield* runs.create(user, { workspaceId, prompt: "hello" })
      assert.deepStrictEqual(yield* modelOf(user, waiting.id), unknown)
      yield* start
      yield* ended(waiting.id)
      const builtIn = { provider: "offline", model: "offline", providerKeyId: null as ProviderKeyId | null }
      assert.deepStrictEqual(yield* modelOf(user, waiting.id), builtIn)

      const providerKeyId = yield* makeKey(user, workspaceId)
      const { id } = yield* runs.create(user, { workspaceId, prompt: "hello", providerKeyId })
      yield* ended(id)
      const answered = {
        provider: "offline",
        model: "mine",
        providerKeyId: providerKeyId as ProviderKeyId | null
      }
      assert.deepStrictEqual(yield* modelOf(user, id), answered)
      yield* ProviderKeys.use((keys) => keys.remove(user, providerKeyId))
      assert.deepStrictEqual(yield* modelOf(user, id), answered)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("a chat turn", () =>
    Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      const providerKeyId = yield* makeKey(user, workspaceId)
      const [first] = yield* collect(
        (yield* Chat).send(user, { workspaceId, content: "hello", providerKeyId })
      )
      const turnId = first?.event === "conversation" ? first.data.turnId : assert.fail("no conversation")
      assert.deepStrictEqual(yield* modelOf(user, turnId), {
        provider: "offline",
        model: "mine",
        providerKeyId
      })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("none, where none gave an answer", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      model.script = () => Stream.fail(new InferenceError({ reason: "authentication", error: "bad key" }))
      const { id } = yield* Runs.use((runs) => runs.create(user, { workspaceId, prompt: "hello" }))
      assert.strictEqual((yield* ended(id)).status, "FAILED")
      assert.deepStrictEqual(yield* modelOf(user, id), unknown)
    }).pipe(Effect.provide(layerScripted()))
  )
})
