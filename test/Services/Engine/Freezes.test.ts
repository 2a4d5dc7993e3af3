import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { withFreezes } from "../../support/Clocks.ts"
import { ended, Faults, layerFaulty, startNode } from "../../support/Engine.ts"
import { listed } from "../../support/Listed.ts"
import { finish, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const { leaseMillis } = Settings.defaults

const call = { id: "c1", name: "remember", arguments: { key: "city", value: "Bonn" } }

/** A run on node one, which is stopped for `millis` at a moment of its work, once. */
const subject = Effect.fnUntraced(function* (stop: Effect.Effect<void>, moment: "decided" | "asking") {
  const [faults, memory, model] = [yield* Faults, yield* MemoryRepo, yield* ScriptedModel]
  const { user, workspaceId } = yield* makeTenant()
  model.script = ({ messages }) =>
    Stream.fromIterable(messages.length === 1 ? [{ type: "tool_call", call }, finish] : says("done"))
  let isPast = false
  const once = (name: string) => (given: string) =>
    Effect.suspend(() => {
      if (isPast || given !== name) return Effect.void
      isPast = true
      return stop
    })
  let isAlone = true
  // It would take up by itself what nobody else has.
  const notAgain = (given: string) =>
    Effect.suspend(() => (isPast && isAlone && given === "takeOver" ? Effect.never : Effect.void))
  const stops = once(moment === "decided" ? "record" : "model")
  faults.before = (given) => Effect.andThen(notAgain(given), moment === "asking" ? stops(given) : Effect.void)
  if (moment === "decided") faults.after = stops
  yield* startNode("one")
  const { id } = yield* (yield* Runs).create(user, {
    workspaceId,
    prompt: "work",
    autonomyLevel: "autonomous"
  })
  yield* TestClock.adjust(1)
  return {
    asked: () => model.requests.length,
    end: ended(id, 100),
    goOn: Effect.suspend(() => {
      isAlone = false
      return startNode("two")
    }),
    written: Effect.map(listed(memory, { workspaceId }), (entries) => entries.length)
  }
})

describe("A node that wakes up", () => {
  it.effect("makes no call that it decided on while its lease lasted: its successor does", () =>
    withFreezes((freeze) =>
      Effect.gen(function* () {
        const { asked, end, goOn, written } = yield* subject(freeze(leaseMillis), "decided")
        assert.deepStrictEqual([asked(), yield* written], [1, 0])
        yield* goOn
        assert.deepInclude(yield* end, { status: "COMPLETED", attempts: 2, epoch: 2 })
        assert.deepStrictEqual([asked(), yield* written], [2, 1])
      }).pipe(Effect.provide(layerFaulty()))
    )
  )

  it.effect("asks no model of what was its own before: its successor does", () =>
    withFreezes((freeze) =>
      Effect.gen(function* () {
        const { asked, end, goOn, written } = yield* subject(freeze(leaseMillis), "asking")
        assert.deepStrictEqual([asked(), yield* written], [0, 0])
        yield* goOn
        assert.deepInclude(yield* end, { status: "COMPLETED", attempts: 2, epoch: 2 })
        assert.deepStrictEqual([asked(), yield* written], [2, 1])
      }).pipe(Effect.provide(layerFaulty()))
    )
  )

  it.effect.each(["decided", "asking"] as const)("goes on within its lease (%s)", (moment) =>
    withFreezes((freeze) =>
      Effect.gen(function* () {
        const { asked, end, written } = yield* subject(freeze(leaseMillis / 2), moment)
        assert.deepInclude(yield* end, { status: "COMPLETED", attempts: 1, epoch: 1 })
        assert.deepStrictEqual([asked(), yield* written], [2, 1])
      }).pipe(Effect.provide(layerFaulty()))
    )
  )
})
