import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Application from "../../src/Layers/Application.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import type { AnsweringModel } from "../../src/Schemas/AnsweringModel.ts"
import type { UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { InferenceError, InferenceEvent, InferenceRequest } from "../../src/Schemas/Inference.ts"
import type { ModelChoice } from "../../src/Schemas/ModelChoice.ts"
import type { Caller } from "../../src/Schemas/Token.ts"
import type { Email, User } from "../../src/Schemas/User.ts"
import { newWorkspace } from "../../src/Schemas/Workspace.ts"
import { Auth } from "../../src/Services/Auth.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Inference } from "../../src/Services/Inference.ts"
import { Settings, type SettingsShape } from "../../src/Services/Settings.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"

/** A model that does as the test says: each call runs the next script. */
export class ScriptedModel extends Context.Service<
  ScriptedModel,
  {
    readonly choices: Array<ModelChoice>
    readonly requests: Array<InferenceRequest>
    script: (request: InferenceRequest) => Stream.Stream<InferenceEvent, InferenceError>
  }
>()("agentd/test/ScriptedModel") {
  static readonly layer = Layer.sync(ScriptedModel, () => ({
    choices: [],
    requests: [],
    script: () => Stream.fromIterable(says("ok"))
  }))
}

/** What answers where a test scripts the model. */
export const scriptedModel: AnsweringModel = { provider: "offline", model: "scripted", providerKeyId: null }

export const layerScriptedInference = Layer.effect(
  Inference,
  Effect.map(ScriptedModel, (model) =>
    Inference.of({
      refusal: () => Effect.succeed(undefined),
      model: (choice) =>
        Effect.sync(() => {
          model.choices.push(choice)
          return {
            answeredBy: scriptedModel,
            pricing: null,
            stream: (request) =>
              Stream.suspend(() => {
                model.requests.push(request)
                return model.script(request)
              })
          }
        })
    })
  )
)

export const finish: InferenceEvent = { type: "finish", usage: { inputTokens: 1, outputTokens: 2 } }

export const says = (...deltas: ReadonlyArray<string>): ReadonlyArray<InferenceEvent> => [
  ...deltas.map((delta): InferenceEvent => ({ type: "text", delta })),
  finish
]

export const calls = (...names: ReadonlyArray<string>): ReadonlyArray<InferenceEvent> => [
  ...names.map(
    (name, index): InferenceEvent => ({
      type: "tool_call",
      call: { id: `call_${name}_${index}`, name, arguments: {} }
    })
  ),
  finish
]

const layerSecretBox = Ring.layer({
  current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"),
  former: []
})

/** The keys of whoever runs the tests are nobody's here. */
const layerNoEnvironment = ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} }))

/** Every use case in memory, with the offline model. */
export const layerOffline = (settings: Partial<SettingsShape> = {}) => layerOver(Layer.empty, settings)

/**
 * The same, but chat turns are not executed, so that nothing sleeps: TestClock stops at each end of a sleep, which
 * is a million times on the way to another month.
 */
export const layerAtRest = (settings: Partial<SettingsShape> = {}) =>
  withMemory(Application.layerAtRest, Layer.empty, settings)

/** As `layerOffline`, with some ports replaced. */
export const layerOver = <P>(ports: Layer.Layer<P>, settings: Partial<SettingsShape> = {}) =>
  withMemory(Application.layer, ports, settings)

const withMemory = <A, E, R, P>(
  application: Layer.Layer<A, E, R>,
  ports: Layer.Layer<P>,
  settings: Partial<SettingsShape>
) =>
  application.pipe(
    Layer.provide(ports),
    Layer.provideMerge(layerSecretBox),
    Layer.provideMerge(Repo.layerMemory),
    Layer.provide(layerNoEnvironment),
    Layer.provideMerge(Layer.succeed(Settings, { ...Settings.defaults, ...settings }))
  )

/** Every use case in memory, with a model that the test scripts. */
export const layerScripted = (settings: Partial<SettingsShape> = {}) =>
  Application.layerWith(layerScriptedInference).pipe(
    Layer.provideMerge(layerSecretBox),
    Layer.provideMerge(Repo.layerMemory),
    Layer.provideMerge(ScriptedModel.layer),
    Layer.provideMerge(Layer.succeed(Settings, { ...Settings.defaults, ...settings }))
  )

/** A user with a workspace of its own and a token for it. */
export const makeTenant = Effect.fn("makeTenant")(function* () {
  const ids = yield* Ids
  const users = yield* UserRepo
  const workspaces = yield* WorkspaceRepo
  const at = yield* now
  const id = yield* ids.make<UserId>("user")
  const user: User = { id, email: `${id}@example.org` as Email, createdAt: at }
  const workspaceId = yield* ids.make<WorkspaceId>("workspace")
  yield* users.insert(user)
  const workspace = newWorkspace({ id: workspaceId, name: "w", plan: "free", at })
  yield* workspaces.insert(workspace, user.id)
  yield* workspaces.addMember(workspaceId, user.id, "owner", at)
  const auth = yield* Auth
  const { secret, token } = yield* auth.issue({ userId: user.id, name: "test", expiresAt: null })
  const caller: Caller = { ...user, token: { id: token.id, expiresAt: null } }
  return { user: caller, workspaceId, token: Redacted.value(secret) }
})

/** A gate that a script waits at until the test opens it. */
export const makeGate = Effect.map(Deferred.make<void>(), (gate) => ({
  open: Deferred.succeed(gate, undefined),
  wait: Deferred.await(gate)
}))
