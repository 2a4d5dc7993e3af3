import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { DatabaseHealth } from "../../../src/Services/DatabaseHealth.ts"
import { AgentLoop } from "../../../src/Services/Engine/AgentLoop.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { SchemaCheck } from "../../../src/Services/SchemaCheck.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import type { Tool } from "../../../src/Services/ToolSource.ts"
import { away } from "../../support/Engine.ts"
import { runWith, tool } from "../../support/Loop.ts"
import { calls, layerScriptedInference, ScriptedModel, says } from "../../support/Service.ts"

const minute = 60_000

const elapsed = Clock.currentTimeMillis

/** A loop whose store answers nobody until `backAt`, by the clock of the test. */
const layerLoop = (backAt = 0) =>
  AgentLoop.layer.pipe(
    Layer.provide(
      Layer.succeed(DatabaseHealth, {
        check: Effect.flatMap(elapsed, (at) => (at < backAt ? Effect.andThen(wait, away) : Effect.void))
      })
    ),
    Layer.provide(layerScriptedInference),
    Layer.provide(Lifecycle.layer),
    Layer.provide(Layer.succeed(SchemaCheck, { check: () => Effect.die("nothing has a format here") })),
    Layer.provide(Layer.succeed(Settings, { ...Settings.defaults, toolTimeoutMillis: minute })),
    Layer.provideMerge(ScriptedModel.layer)
  )

/** As a database that is frozen is waited for. */
const wait = Effect.sleep("10 seconds")

/** What becomes of one call within a quarter of an hour, and when. */
const outcome = Effect.fnUntraced(function* (call: ReturnType<Tool["call"]>) {
  const running = yield* runWith({
    answers: [calls("work"), says("ok")],
    tools: [tool("work", () => call)]
  }).pipe(
    Effect.flatMap(({ exit }) => Effect.map(elapsed, (endedAt) => ({ exit, endedAt }))),
    Effect.forkChild({ startImmediately: true })
  )
  yield* TestClock.adjust(15 * minute)
  const result = running.pollUnsafe()
  yield* Fiber.interrupt(running)
  if (result?._tag !== "Success") return { ended: "never", endedAt: 0 }
  const { endedAt, exit } = result.value
  return { ended: exit._tag === "Success" ? "answered" : exit.failure._tag, endedAt }
})

describe("The limit of a tool call", () => {
  it.effect.each([
    ["slowly", wait],
    ["at once", Effect.void],
    ["until it hangs", Effect.flatMap(elapsed, (at) => (at < 45_000 ? Effect.void : Effect.never))]
  ] as const)("holds for all tries of a call that alone is refused, %s", ([, before]) =>
    Effect.gen(function* () {
      const { ended, endedAt } = yield* outcome(Effect.andThen(before, away))
      assert.strictEqual(ended, "LimitExceeded")
      assert.isAtLeast(endedAt, minute)
      assert.isAtMost(endedAt, minute + 11_000)
    }).pipe(Effect.provide(layerLoop()))
  )

  it.effect("stands still while the store answers nobody, and counts from there", () =>
    Effect.gen(function* () {
      const found = yield* outcome(
        Effect.flatMap(elapsed, (at) =>
          at < 10 * minute ? Effect.andThen(wait, away) : Effect.succeed("done")
        )
      )
      assert.strictEqual(found.ended, "answered")
    }).pipe(Effect.provide(layerLoop(9.5 * minute)))
  )

  it.effect("goes on after the store is back", () =>
    Effect.gen(function* () {
      const { ended, endedAt } = yield* outcome(
        Effect.flatMap(elapsed, (at) => (at < 5 * minute ? away : Effect.never))
      )
      assert.strictEqual(ended, "LimitExceeded")
      assert.isAtLeast(endedAt, 5 * minute)
      assert.isAtMost(endedAt, 6 * minute + 11_000)
    }).pipe(Effect.provide(layerLoop(5 * minute)))
  )
})
