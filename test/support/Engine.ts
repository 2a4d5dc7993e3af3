import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Application from "../../src/Layers/Application.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { InferenceRequest } from "../../src/Schemas/Inference.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { BudgetRepo } from "../../src/Services/BudgetRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import * as Engine from "../../src/Services/Engine.ts"
import { Inference } from "../../src/Services/Inference.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Settings, type SettingsShape } from "../../src/Services/Settings.ts"
import { ScriptedModel, scriptedModel } from "./Service.ts"

type Script = ReturnType<ScriptedModel["Service"]["script"]>
type Fault = Effect.Effect<void, Unavailable>

/** What happens to calls of the store by their names, and to `model`: before they are made, and after. */
export class Faults extends Context.Service<
  Faults,
  { before: (call: string) => Fault; after: (call: string) => Fault }
>()("agentd/test/Faults") {}

export const away = Effect.fail(new Unavailable({ error: "the database is away" }))

const faulty = <S extends object>(service: S, faults: Faults["Service"]): S => {
  const around = (name: string, work: () => Effect.Effect<unknown, Unavailable>) =>
    Effect.suspend(() => faults.before(name)).pipe(
      Effect.andThen(Effect.suspend(work)),
      Effect.tap(() => Effect.suspend(() => faults.after(name)))
    )
  return Object.fromEntries(
    Object.entries(service).map(([name, member]) => [
      name,
      Effect.isEffect(member)
        ? around(name, () => member as Effect.Effect<unknown, Unavailable>)
        : (...given: ReadonlyArray<unknown>) => around(name, () => member(...given))
    ])
  ) as S
}

const layerPorts = Layer.mergeAll(
  Layer.effect(
    ConversationRepo,
    Effect.zipWith(ConversationRepo, Faults, (repo, faults) => {
      const { addReply } = repo
      return { ...repo, ...faulty({ addReply }, faults) }
    })
  ),
  Layer.effect(BudgetRepo, Effect.zipWith(BudgetRepo, Faults, faulty)),
  Layer.effect(RunRepo, Effect.zipWith(RunRepo, Faults, faulty)),
  Layer.effect(RunJournal, Effect.zipWith(RunJournal, Faults, faulty))
)

const layerModel = Layer.effect(
  Inference,
  Effect.gen(function* () {
    const faults = yield* Faults
    const keys = yield* ProviderKeyRepo
    const model = yield* ScriptedModel
    return Inference.of({
      refusal: () => Effect.succeed(undefined),
      model: ({ workspaceId }) =>
        Effect.andThen(
          Effect.suspend(() => faults.before("model")),
          Effect.map(keys.forModels(workspaceId), ({ hasBudget }) => ({
            answeredBy: scriptedModel,
            pricing: null,
            hasBudget,
            stream: (request: InferenceRequest) => {
              model.requests.push(request)
              return model.script(request)
            }
          }))
        )
    })
  })
)

/** Every use case in memory, with a model that the test scripts, and a store that fails as it says. */
export const layerFaulty = (settings: Partial<SettingsShape> = {}) =>
  Application.layerWith(layerModel).pipe(
    Layer.provideMerge(
      Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })
    ),
    Layer.provideMerge(layerPorts),
    Layer.provideMerge(Layer.mergeAll(Repo.layerMemory, ScriptedModel.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.sync(Faults, () => ({ before: () => Effect.void, after: () => Effect.void })),
        Layer.succeed(Settings, { ...Settings.defaults, ...settings })
      )
    )
  )

export const stored = Effect.fnUntraced(function* (id: RunId) {
  const repo = yield* RunRepo
  return Option.getOrThrow(yield* repo.find(id))
})

/** Lets the executor work until the run has ended; a run that never ends fails the test by its time-out. */
export const ended = Effect.fnUntraced(function* (id: RunId, step = 1) {
  let run: StoredRun = yield* stored(id)
  while (run.status === "PENDING" || run.status === "RUNNING") {
    yield* TestClock.adjust(step)
    run = yield* stored(id)
  }
  return run
})

/** What the user asked for. */
export const promptOf = ({ messages: [first] }: InferenceRequest) =>
  first?.role === "user" ? first.content : ""

/** An executor, until it is stopped. */
export const start = Effect.gen(function* () {
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(Engine.layerTasks, scope)
  return { stop: Scope.close(scope, Exit.void) }
})

/** The same on another node over the same store, under its own name and with its own places. */
export const startNode = Effect.fnUntraced(function* (
  worker: string,
  executor: typeof Engine.layerTasks | typeof Engine.layerTurns = Engine.layerTasks
) {
  const settings = { ...(yield* Settings), worker }
  const scope = yield* Scope.make()
  const node = executor.pipe(
    Layer.provide(Engine.layer),
    Layer.provide(Layer.succeed(Settings, settings)),
    Layer.fresh
  )
  yield* Layer.buildWithScope(node, scope)
  return { stop: Scope.close(scope, Exit.void) }
})

/**
 * A node that executes tasks, or turns, and can die: nothing that it asks of the store from then on is answered, so it writes
 * and hands back nothing more. `model` answers its questions, and is told on which node.
 */
export const startMortal = Effect.fnUntraced(function* (
  worker: string,
  model: (request: InferenceRequest, die: Effect.Effect<never>) => Script,
  executor: typeof Engine.layerTasks | typeof Engine.layerTurns = Engine.layerTasks,
  /** It dies before it makes this call of the store. */
  fatal?: string
) {
  const settings = { ...(yield* Settings), worker }
  let isDead = false
  const die = Effect.sync(() => {
    isDead = true
  })
  const fate: Faults["Service"] = {
    before: (call) => {
      isDead ||= call === fatal
      return isDead ? Effect.never : Effect.void
    },
    after: () => (isDead ? Effect.never : Effect.void)
  }
  const mortal = <I, S extends object>(port: Context.Key<I, S>) =>
    Layer.effect(
      port,
      Effect.map(port, (service) => faulty(service, fate))
    )
  const node = executor.pipe(
    Layer.provide(Engine.layer),
    Layer.provide(
      Layer.mergeAll(
        mortal(ApprovalRepo),
        mortal(RunEventRepo),
        mortal(RunJournal),
        mortal(RunRepo),
        Layer.succeed(Inference, {
          refusal: () => Effect.succeed(undefined),
          model: () =>
            Effect.succeed({
              answeredBy: scriptedModel,
              pricing: null,
              stream: (request) => model(request, Effect.andThen(die, Effect.never))
            })
        }),
        Layer.succeed(Settings, settings)
      )
    ),
    Layer.fresh
  )
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(node, scope)
  return { isDead: () => isDead, die, stop: Scope.close(scope, Exit.void) }
})

/** To a moment at which nothing polls for the next 100 ms, neither executors nor readers that begin there. */
export const betweenPolls = TestClock.adjust(1_230)

/** Turns of the fibers within one millisecond: what has happened then waited for no poll. */
export const withinOneMilli = Effect.andThen(
  TestClock.adjust(1),
  Effect.replicateEffect(TestClock.adjust(0), 50)
)
