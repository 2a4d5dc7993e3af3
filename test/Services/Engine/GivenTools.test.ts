import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { givenOf } from "../../../src/Schemas/GivenTool.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import { AgentLoop } from "../../../src/Services/Engine/AgentLoop.ts"
import { called, other, resume, unavailable, written } from "../../support/Bindings.ts"
import { makeInput, tool } from "../../support/Loop.ts"
import { calls, layerScripted, ScriptedModel, says } from "../../support/Service.ts"

describe("The tools that a run was given with its first question", () => {
  const given = givenOf([written(() => Effect.succeed("first"))])
  const second = written(() => Effect.succeed("second"), other)
  const echoed = called("c1", { name: "echo", binding: null })
  const echo = tool("echo", () => Effect.succeed("echo"))
  const shownBy = (model: ScriptedModel["Service"]) =>
    model.requests.map(({ tools }) => tools.map(({ name }) => name))

  it.effect("are kept with the first answer alone", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("echo") : says("done"))
      const recorded: Array<JournalStep> = []
      const loop = yield* AgentLoop
      yield* loop.answer(
        makeInput({
          tools: [second, echo],
          journal: { finished: new Map(), record: (_, step) => Effect.sync(() => recorded.push(step) > 0) }
        })
      )
      const kept = recorded.map((step) => (step.type === "model" ? step.given : null))
      assert.deepStrictEqual(kept, [givenOf([second]), null, undefined])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are waited for when it goes on, and no other tool gets their names meanwhile", () =>
    Effect.gen(function* () {
      const { model, running } = yield* resume({
        calls: [echoed],
        given,
        toolbox: [echo, second],
        access: { find: () => Effect.fail(unavailable) }
      })
      yield* TestClock.adjust("4 minutes")
      assert.isUndefined(running.pollUnsafe())
      assert.deepStrictEqual(model.requests, [])
      yield* TestClock.adjust("2 minutes")
      const ended = yield* Fiber.join(running)
      assert.isTrue(ended._tag === "Failure" && ended.failure._tag === "ToolUnavailable")
      assert.deepStrictEqual(model.requests, [])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are told of to a model that has called another, before anything is looked up", () =>
    Effect.gen(function* () {
      const { model, running } = yield* resume({
        calls: [called("c1", { name: "made_up", binding: null })],
        given,
        toolbox: [echo],
        access: { builtin: [echo], find: () => Effect.succeed(written(() => Effect.succeed("first"))) }
      })
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      const [, , told] = model.requests[0]?.messages ?? []
      assert.deepStrictEqual(told?.role === "tool" ? told.results.map(({ result }) => result) : told, [
        "There is no tool named made_up. There are: docs__write, echo."
      ])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("keep their names, whatever the connector is called now and who else has that name", () =>
    Effect.gen(function* () {
      const renamed = written(() => Effect.succeed("first"))
      const { model, running } = yield* resume({
        calls: [echoed],
        given,
        toolbox: [echo, second, { ...renamed, definition: { ...renamed.definition, name: "other__write" } }],
        access: {}
      })
      yield* Fiber.join(running)
      assert.deepStrictEqual(shownBy(model), [["echo", "docs__write"]])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are looked for where a list misses them, and told to the model and the reader of a turn", () =>
    Effect.gen(function* () {
      const found = yield* resume({
        calls: [echoed],
        given,
        toolbox: [echo],
        access: { find: () => Effect.succeed(written(() => Effect.succeed("first"))) }
      })
      yield* Fiber.join(found.running)
      assert.deepStrictEqual(shownBy(found.model), [["echo", "docs__write"]])
      found.model.requests.length = 0
      const turn = yield* resume({
        calls: [echoed],
        given,
        toolbox: [echo, second],
        access: { waits: false, find: () => Effect.fail(unavailable) }
      })
      yield* Fiber.join(turn.running)
      assert.deepStrictEqual(shownBy(turn.model), [["echo"]])
      assert.match(turn.model.requests[0]?.system ?? "", /can't be reached now.*"docs"/u)
      assert.include(JSON.stringify(turn.events), '"unavailableConnectors":[{"id":"conn_1","name":"docs"}]')
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are neither looked for nor shown where the run may not have them", () =>
    Effect.gen(function* () {
      const { model, running } = yield* resume({
        calls: [echoed],
        given,
        toolbox: [echo],
        access: {
          mayHave: ({ binding }) => binding === null,
          find: () => Effect.die("it was looked for")
        }
      })
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      assert.deepStrictEqual(shownBy(model), [["echo"]])
    }).pipe(Effect.provide(layerScripted()))
  )
})
