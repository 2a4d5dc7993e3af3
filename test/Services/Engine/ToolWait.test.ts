import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { ToolUnavailable } from "../../../src/Schemas/ToolAbsence.ts"
import * as ToolWait from "../../../src/Services/Engine/ToolWait.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { Settings } from "../../../src/Services/Settings.ts"

const waitMillis = 30_000
const layer = Layer.mergeAll(
  Lifecycle.layer,
  Layer.succeed(Settings, { ...Settings.defaults, toolWaitMillis: waitMillis })
)
const away = new ToolUnavailable({ error: "away", isGone: false })

/** Tries that fail until `backAt`, and when each of them was made. */
const tries = (backAt: number) => {
  const at: Array<number> = []
  const attempt = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    at.push(now)
    return now < backAt ? Effect.fail(away) : Effect.succeed("back")
  })
  return { at, attempt }
}

describe("Waiting for a tool", () => {
  it.effect("looks again, less and less often, until it is there", () =>
    Effect.gen(function* () {
      const awaitTool = yield* ToolWait.make
      const { at, attempt } = tries(20_000)
      const waiting = yield* Effect.forkChild(awaitTool(attempt))
      yield* TestClock.adjust(waitMillis)
      assert.strictEqual(yield* Fiber.join(waiting), "back")
      assert.deepStrictEqual(at, [0, 500, 1_500, 3_500, 7_500, 15_500, 25_500])
    }).pipe(Effect.provide(layer))
  )

  it.effect("looks a last time when the wait is over, and fails for the reason that there is then", () =>
    Effect.gen(function* () {
      const awaitTool = yield* ToolWait.make
      const { at, attempt } = tries(Number.POSITIVE_INFINITY)
      const waiting = yield* Effect.forkChild(Effect.flip(awaitTool(attempt)))
      yield* TestClock.adjust(waitMillis - 1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(waiting), away)
      assert.strictEqual(at.at(-1), waitMillis)
    }).pipe(Effect.provide(layer))
  )

  it.effect("cuts no try off that is under way when the wait is over", () =>
    Effect.gen(function* () {
      const awaitTool = yield* ToolWait.make
      let made = 0
      const slow = Effect.suspend(() =>
        ++made === 1 ? Effect.fail(away) : Effect.as(Effect.sleep(2 * waitMillis), "made")
      )
      const waiting = yield* Effect.forkChild(awaitTool(slow))
      yield* TestClock.adjust(3 * waitMillis)
      assert.strictEqual(yield* Fiber.join(waiting), "made")
      assert.strictEqual(made, 2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not wait for what is gone, nor for anything else that fails", () =>
    Effect.gen(function* () {
      const awaitTool = yield* ToolWait.make
      const gone = new ToolUnavailable({ error: "deleted", isGone: true })
      assert.strictEqual(yield* Effect.flip(awaitTool(Effect.fail(gone))), gone)
      assert.strictEqual(yield* Effect.flip(awaitTool(Effect.fail("other"))), "other")
    }).pipe(Effect.provide(layer))
  )

  it.effect("is over when the node is told to stop, but what is under way is not", () =>
    Effect.gen(function* () {
      const awaitTool = yield* ToolWait.make
      const { draining, startDraining } = yield* Lifecycle
      const waiting = yield* Effect.forkChild(Effect.flip(awaitTool(tries(Number.POSITIVE_INFINITY).attempt)))
      const working = yield* Effect.forkChild(awaitTool(Effect.as(Effect.sleep(1_000), "made")))
      yield* TestClock.adjust(700)
      yield* startDraining
      yield* draining
      yield* TestClock.adjust(0)
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "HandedBack")
      yield* TestClock.adjust(300)
      assert.strictEqual(yield* Fiber.join(working), "made")
    }).pipe(Effect.provide(layer))
  )
})
