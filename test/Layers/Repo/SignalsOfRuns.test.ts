import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Application from "../../../src/Layers/Application.ts"
import * as Ring from "../../../src/Layers/SecretBox/Ring.ts"
import type { NumberedEvent } from "../../../src/Schemas/RunEvent.ts"
import { RunEvents } from "../../../src/Services/Engine/RunEvents.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { type Signal, Signals } from "../../../src/Services/Signals.ts"
import { layerNode } from "../../support/Backends.ts"
import * as Postgres from "../../support/Postgres.ts"
import { layerScriptedInference, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"
import { eventually, pause } from "../../support/Until.ts"

const layerSecretBox = Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })

const layerUseCases = (url: string, worker: string) =>
  Layer.fresh(
    Application.layerWith(layerScriptedInference).pipe(
      Layer.provideMerge(layerSecretBox),
      Layer.provideMerge(ScriptedModel.layer),
      Layer.provideMerge(layerNode(Postgres.client(url), { worker }))
    )
  )

const ignore = { type: "cron" } as const satisfies Signal

/** A node that executes tasks, another one that does not, and what the first one hears. */
const makeTwo = Effect.gen(function* () {
  const url = yield* Postgres.migratedDatabase
  const executing = yield* Layer.build(
    Layer.fresh(Engine.layerTasks.pipe(Layer.provideMerge(layerUseCases(url, "executing"))))
  )
  const other = yield* Layer.build(layerUseCases(url, "other"))
  const onExecuting = Effect.provideContext(executing)
  const onOther = Effect.provideContext(other)
  const listen = Effect.gen(function* () {
    const heard: Array<Signal> = []
    const stream = yield* (yield* Signals).subscribe
    yield* Effect.forkScoped(
      Stream.runForEach(stream, (signal) => Effect.sync(() => void heard.push(signal)))
    )
    return heard
  })
  const [heard, heardByOther] = [yield* onExecuting(listen), yield* onOther(listen)]
  const publish = Effect.flatMap(Signals, (signals) => signals.publish(ignore))
  // Both listen before anything is to be told.
  for (const [send, got] of [
    [onOther(publish), heard],
    [onExecuting(publish), heardByOther]
  ] as const) {
    yield* eventually(
      Effect.map(send, () => got.some(({ type }) => type === ignore.type)),
      "it is heard"
    )
  }
  const model = yield* onExecuting(ScriptedModel)
  const { user, workspaceId } = yield* onExecuting(makeTenant())
  const create = Effect.flatMap(Runs, (runs) => runs.create(user, { workspaceId, prompt: "work" }))
  return { create, heard, model, onExecuting, onOther, user }
})

/** The clock stands still, or does not move as far as the next look: only a signal can bring what happens. */
const suite = () => {
  it.effect("a task that is made on another node begins", () =>
    Effect.gen(function* () {
      const { create, model, onOther } = yield* makeTwo
      const reached = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(reached.open, Stream.never))
      yield* onOther(create)
      yield* reached.wait
    })
  )

  it.effect("a task that is cancelled on another node lets its model go", () =>
    Effect.gen(function* () {
      const { create, model, onExecuting, onOther, user } = yield* makeTwo
      const [reached, letGo] = [yield* makeGate, yield* makeGate]
      model.script = () => Stream.unwrap(Effect.as(reached.open, Stream.ensuring(Stream.never, letGo.open)))
      const { id } = yield* onExecuting(create)
      yield* reached.wait
      yield* onOther(Effect.flatMap(Runs, (runs) => runs.cancel(user, id)))
      yield* letGo.wait
    })
  )

  it.effect("what a task says is read on another node as it is kept, and so is its end", () =>
    Effect.gen(function* () {
      const { create, heard, model, onExecuting, onOther } = yield* makeTwo
      const [reached, speak, end] = [yield* makeGate, yield* makeGate, yield* makeGate]
      const [text, ...rest] = says("word")
      model.script = () =>
        Stream.unwrap(Effect.as(Effect.andThen(reached.open, speak.wait), Stream.fromIterable([text]))).pipe(
          Stream.concat(Stream.unwrap(Effect.as(end.wait, Stream.fromIterable(rest)))),
          Stream.filter((event) => event !== undefined)
        )
      const { id } = yield* onExecuting(create)
      yield* reached.wait
      const seen: Array<NumberedEvent> = []
      const events = yield* onOther(RunEvents)
      yield* Effect.forkScoped(
        Stream.runForEach(events.follow(id, 0), (event) => Effect.sync(() => void seen.push(event)))
      )
      yield* eventually(
        Effect.sync(() => heard.some((signal) => signal.type === "watch" && signal.ids.includes(id))),
        "it is known that somebody reads"
      )
      yield* pause
      yield* speak.open
      let moved = 0
      yield* eventually(
        Effect.gen(function* () {
          if (JSON.stringify(seen).includes("word")) return true
          if (moved < 900) yield* TestClock.adjust(10)
          moved += 10
          return false
        }),
        "the word is read"
      )
      yield* end.open
      yield* eventually(
        Effect.sync(() => seen.at(-1)?.event.event === "done"),
        "the end is read"
      )
      assert.isAtMost(moved, 900)
    })
  )
}

if (Postgres.hasPostgres) describe("Runs of another node on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Runs of another node on PostgreSQL"), suite)
