import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import { type Aside, relayed } from "../../src/Services/Relay.ts"

describe("a stream that is relayed", () => {
  it.effect.each([
    ["a defect", Effect.die("broken"), Cause.hasDies],
    ["an interruption", Effect.interrupt, Cause.hasInterrupts]
  ] as const)("ends with %s of its source, behind what came before", ([, end, has]) =>
    Effect.gen(function* () {
      const told: Array<number> = []
      const source = Stream.concat(Stream.make(1, 2), Stream.fromEffect(end as Effect.Effect<number>))
      const exit = yield* Effect.exit(
        Stream.runForEach(
          relayed(source, () => Effect.void),
          (n) => Effect.sync(() => void told.push(n))
        )
      )
      assert.deepStrictEqual(told, [1, 2])
      assert.isTrue(Exit.isFailure(exit) && has(exit.cause as never))
    })
  )

  it.effect("is read one batch ahead of a reader that takes none", () =>
    Effect.gen(function* () {
      let pulled = 0
      const source = Stream.fromEffectRepeat(Effect.sync(() => ++pulled))
      const stopped = yield* Latch.make(false)
      const reading = yield* relayed(source, () => Effect.void).pipe(
        Stream.runForEachArray(() => stopped.await),
        Effect.forkChild
      )
      for (let n = 0; n < 100; n++) yield* Effect.yieldNow
      assert.isAtMost(pulled, 3)
      yield* Fiber.interrupt(reading)
      const before = pulled
      for (let n = 0; n < 100; n++) yield* Effect.yieldNow
      assert.strictEqual(pulled, before)
    })
  )

  it.effect("tells nothing but the last behind its close, and keeps the order before", () =>
    Effect.gen(function* () {
      let aside: Aside<string> | undefined
      const source = Stream.concat(Stream.make("a"), Stream.never)
      const told: Array<string> = []
      const begun = yield* Latch.make(false)
      const reading = yield* relayed(source, (given: Aside<string>) =>
        Effect.sync(() => {
          aside = given
        })
      ).pipe(
        Stream.runForEach((text) =>
          Effect.andThen(
            begun.open,
            Effect.sync(() => void told.push(text))
          )
        ),
        Effect.forkChild
      )
      yield* begun.await
      for (const text of ["b", "c"]) {
        aside?.say(text)
        for (let n = 0; n < 10; n++) yield* Effect.yieldNow
      }
      aside?.say("left out")
      aside?.close("z")
      aside?.say("too late")
      yield* Fiber.join(reading)
      assert.strictEqual(told.join("").replace("left out", ""), "abcz")
      assert.notInclude(told, "too late")
    })
  )
})
