import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import type { InferenceRequest } from "../../../src/Schemas/Inference.ts"
import { isTerminal } from "../../../src/Schemas/Run.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { layerFaulty, promptOf, startMortal, stored } from "../../support/Engine.ts"
import { calls, makeTenant, says } from "../../support/Service.ts"

const settings = { runConcurrency: 40, runsPerWorkspace: 40, leaseMillis: 3_000 }
const thinkMillis = 2_000
const isPoison = (request: InferenceRequest) => promptOf(request).startsWith("poison")

/** Asks, calls a tool, and answers: three steps. */
const answer = (request: InferenceRequest) =>
  Stream.fromEffect(Effect.sleep(thinkMillis)).pipe(
    Stream.flatMap(() =>
      Stream.fromIterable(request.messages.length === 1 ? calls("current_time") : says("done"))
    )
  )

/** What a process does that this run kills as soon as it is asked the second time, when others still think. */
const deadly = (request: InferenceRequest, die: Effect.Effect<never>) =>
  isPoison(request) && request.messages.length > 1
    ? Stream.fromEffect(Effect.andThen(Effect.sleep(100), die))
    : answer(request)

/** Submits them, and answers what became of them. */
const submitted = Effect.fnUntraced(function* (prompts: ReadonlyArray<string>) {
  const { user, workspaceId } = yield* makeTenant()
  const runs = yield* Runs
  const ids: Array<RunId> = []
  for (const prompt of prompts) ids.push((yield* runs.create(user, { workspaceId, prompt })).id)
  const all = Effect.forEach(ids, stored)
  return {
    all,
    areOver: Effect.map(all, (runs) => runs.every(({ status }) => isTerminal(status))),
    wrong: Effect.map(all, (runs) =>
      runs.flatMap(({ errorCode, prompt, status }) =>
        (prompt.startsWith("poison") ? errorCode === "worker_lost" : status === "COMPLETED")
          ? []
          : [`${prompt}: ${status} ${errorCode}`]
      )
    )
  }
})

const innocents = (count: number) => Array.from({ length: count }, (_, n) => `innocent ${n}`)

describe("A run that kills its process", () => {
  it.effect.each([1, 2])(
    "is given up after five crashes at most, of %d such, and all others complete",
    (count) =>
      Effect.gen(function* () {
        const prompts = innocents(22)
        for (let n = 0; n < count; n++) prompts.splice(7 + 5 * n, 0, `poison ${n}`)
        const { areOver, wrong } = yield* submitted(prompts)
        let crashes = 0
        let node = yield* startMortal("node 0", deadly)
        for (let waited = 0; waited < 600 && !(yield* areOver); waited++) {
          yield* TestClock.adjust(1_000)
          if (node.isDead()) node = yield* startMortal(`node ${++crashes}`, deadly)
        }
        assert.deepStrictEqual(yield* wrong, [])
        assert.isAtMost(crashes, 5 * count)
      }).pipe(Effect.provide(layerFaulty(settings)))
  )
})

describe("A process that is killed again and again", () => {
  it.effect("fails none of 23 runs that were in flight each time", () =>
    Effect.gen(function* () {
      const { areOver, wrong } = yield* submitted(innocents(23))
      for (let crash = 0; crash < 10; crash++) {
        const node = yield* startMortal(`node ${crash}`, () => Stream.never)
        yield* TestClock.adjust(settings.leaseMillis + 1_500)
        yield* node.die
      }
      yield* startMortal("last", answer)
      for (let waited = 0; waited < 600 && !(yield* areOver); waited++) yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* wrong, [])
    }).pipe(Effect.provide(layerFaulty(settings)))
  )
})
