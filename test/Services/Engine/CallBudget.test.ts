import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { InferenceError } from "../../../src/Schemas/Inference.ts"
import { BudgetRepo } from "../../../src/Services/BudgetRepo.ts"
import { Budgets } from "../../../src/Services/Budgets.ts"
import { BudgetNews } from "../../../src/Services/Engine/BudgetNews.ts"
import * as CallBudget from "../../../src/Services/Engine/CallBudget.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import type { Model } from "../../../src/Services/Inference.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { away, ended, layerFaulty, stored } from "../../support/Engine.ts"
import { makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

/** Less than one call may need at most. */
const narrow = 5_000

const subject = Effect.gen(function* () {
  const { user, workspaceId } = yield* makeTenant()
  const runs = yield* Runs
  const budgets = yield* Budgets
  const repo = yield* BudgetRepo
  const model = yield* ScriptedModel
  const engine = Context.get(
    yield* Layer.buildWithScope(
      Layer.fresh(Engine.layerTasks.pipe(Layer.provideMerge(Engine.layer))),
      yield* Scope.make()
    ),
    Engine.Engine
  )
  const create = Effect.map(
    runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "autonomous" }),
    ({ id }) => id
  )
  const put = (monthlyTokens: number | null) => budgets.put(user, workspaceId, { monthlyTokens })
  const standing = Effect.map(repo.standing(workspaceId), (found) => found.standing)
  const [begun, gate] = [yield* makeGate, yield* makeGate]
  const answer = Stream.fromIterable(says("done"))
  /** The first answer waits until it is let go. */
  model.script = () =>
    model.requests.length > 1
      ? answer
      : Stream.unwrap(Effect.as(Effect.andThen(begun.open, gate.wait), answer))
  /** One run whose call is under way, and one that waits for it. */
  const two = Effect.gen(function* () {
    yield* put(narrow)
    const first = yield* create
    yield* begun.wait
    const second = yield* create
    yield* TestClock.adjust(5_000)
    assert.lengthOf(model.requests, 1, "the second waits")
    assert.isAbove((yield* standing).reserved.tokens, narrow)
    return { first, second }
  })
  return { create, engine, gate, model, put, runs, standing, two, user, workspaceId }
})

describe("a call within a budget", () => {
  it.effect("waits for the one that is under way, and begins when that is booked", () =>
    Effect.gen(function* () {
      const { gate, model, standing, two } = yield* subject
      const { first, second } = yield* two
      yield* gate.open
      for (const id of [first, second]) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
      assert.lengthOf(model.requests, 2)
      const { lost, reserved, used } = yield* standing
      assert.deepStrictEqual([lost.tokens, reserved.tokens], [0, 0])
      assert.isAbove(used.tokens, 0)
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("is refused once what is booked has reached the limit, by a sentence that names it", () =>
    Effect.gen(function* () {
      const { create, gate, model, put, two } = yield* subject
      const { first, second } = yield* two
      yield* put(1)
      yield* gate.open
      assert.strictEqual((yield* ended(first)).status, "COMPLETED")
      const failed = yield* ended(second)
      assert.deepInclude(failed, { status: "FAILED", errorCode: "budget_exceeded" })
      assert.include(failed.error, "monthlyTokens: the workspace has used up its budget of 1 tokens")
      assert.lengthOf(model.requests, 1)
      assert.strictEqual((yield* Effect.flip(create))._tag, "BudgetExceeded")
      yield* put(null)
      assert.strictEqual((yield* ended(yield* create)).status, "COMPLETED")
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("goes on at once when the limit is raised", () =>
    Effect.gen(function* () {
      const { put, two } = yield* subject
      const { second } = yield* two
      yield* put(1_000_000)
      assert.strictEqual((yield* ended(second)).status, "COMPLETED")
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("that waits is stopped by a cancellation, and handed back when the process stops", () =>
    Effect.gen(function* () {
      const { create, engine, gate, runs, standing, two, user } = yield* subject
      const { second } = yield* two
      const third = yield* create
      yield* TestClock.adjust(2_000)
      yield* runs.cancel(user, second)
      yield* TestClock.adjust(2_000)
      const draining = yield* Effect.forkChild(engine.drain("task", 10_000), { startImmediately: true })
      yield* TestClock.adjust(100)
      assert.deepInclude(yield* stored(third), { status: "PENDING" })
      assert.strictEqual((yield* stored(second)).status, "CANCELLED")
      yield* gate.open
      yield* TestClock.adjust(100)
      yield* Fiber.join(draining)
      const { lost, reserved } = yield* standing
      assert.deepStrictEqual([lost.tokens, reserved.tokens], [0, 0], "who only waits holds nothing")
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("counts as lost where its answer broke off without a word of what it cost", () =>
    Effect.gen(function* () {
      const { create, model, put, standing } = yield* subject
      yield* put(1_000_000)
      model.script = () => Stream.fail(new InferenceError({ reason: "timeout", error: "silent" }))
      const id = yield* create
      assert.deepInclude(yield* ended(id), { status: "FAILED", errorCode: "inference_timeout" })
      const { lost, reserved, used } = yield* standing
      assert.isAbove(lost.tokens, 8_192)
      assert.deepStrictEqual([reserved.tokens, used.tokens], [0, 0])
      assert.strictEqual((yield* (yield* RunJournal).steps(id)).size, 0)
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("that is lost while the store is away is told of before its execution asks for the next", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      let isAway = true
      const repo = {
        ...(yield* BudgetRepo),
        reserve: () =>
          Effect.as(
            Effect.sync(() => heard.push("reserve")),
            { type: "reserved" as const }
          ),
        settle: (_: object, how: string) =>
          Effect.suspend(() => {
            heard.push(isAway ? `${how} in vain` : how)
            return isAway ? away : Effect.void
          })
      }
      const budget = CallBudget.make({
        repo,
        news: yield* BudgetNews,
        execution: { id: "run_1" as RunId, worker: "w", epoch: 1 },
        workspaceId: "ws_1" as WorkspaceId
      })
      const model: Model = {
        answeredBy: { provider: "p", model: "m", providerKeyId: null },
        hasBudget: true,
        maxOutputTokens: 10,
        pricing: null,
        stream: () => Stream.empty
      }
      const question = { model, request: { system: null, messages: [], tools: [] } }
      yield* budget.during(
        question,
        () => true,
        Effect.fnUntraced(function* (asking) {
          if (asking === undefined) return assert.fail("there is a budget")
          yield* asking.failed(false)
          isAway = false
          yield* asking.again
        })
      )
      assert.deepStrictEqual(heard, ["reserve", "lost in vain", "lost", "reserve"])
    }).pipe(Effect.provide(layerFaulty()))
  )
})
