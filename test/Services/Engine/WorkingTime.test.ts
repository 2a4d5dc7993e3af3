import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import type { RunStatus } from "../../../src/Schemas/Run.ts"
import { Approvals } from "../../../src/Services/Approvals.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { layerFaulty, start, startMortal, startNode, stored } from "../../support/Engine.ts"
import { calls, finish, makeTenant, ScriptedModel, says } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"

const seconds = (count: number) => count * 1000
const layer = layerFaulty({ runMaxMillis: seconds(10) })
const exceeded = {
  status: "FAILED",
  errorCode: "run_time_exceeded",
  error: "worked for longer than 10 s"
} as const

/** A model that takes 3 s for each answer, and has always another call. */
const slow = () =>
  Stream.unwrap(Effect.as(Effect.sleep(seconds(3)), Stream.fromIterable(calls("current_time"))))

/** Turns of the fibers, and no time: calls are hashed beside them. */
const untilSo = <E, R>(is: Effect.Effect<boolean, E, R>, what: string) =>
  eventually(Effect.andThen(TestClock.adjust(0), is), what)

const untilIs = (id: RunId, status: RunStatus) =>
  untilSo(
    Effect.map(stored(id), (run) => run.status === status),
    status
  )

const subject = Effect.gen(function* () {
  const model = yield* ScriptedModel
  model.script = slow
  const { user, workspaceId } = yield* makeTenant()
  const runs = yield* Runs
  const create = (autonomyLevel: "autonomous" | "supervised") =>
    Effect.map(runs.create(user, { workspaceId, prompt: "work", autonomyLevel }), ({ id }) => id)
  return { create, model, runs, user, workspaceId }
})

describe("The working time of a run", () => {
  it.effect("ends it FAILED, and its finished steps are kept", () =>
    Effect.gen(function* () {
      const { create, runs, user } = yield* subject
      yield* start
      const id = yield* create("autonomous")
      yield* TestClock.adjust(seconds(10) - 1)
      assert.strictEqual((yield* stored(id)).status, "RUNNING")
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* stored(id), { ...exceeded, usage: { inputTokens: 3, outputTokens: 6 } })
      assert.strictEqual((yield* runs.get(user, id)).steps.length, 6)
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not count the wait to begin, or that for people", () =>
    Effect.gen(function* () {
      const { create, model, user, workspaceId } = yield* subject
      const approvals = yield* Approvals
      // Each call is one of its own, that has to be allowed.
      model.script = () => {
        const call = { id: `c${model.requests.length}`, name: "current_time", arguments: {} }
        const answer = Stream.make({ type: "tool_call" as const, call }, finish)
        return Stream.unwrap(Effect.as(Effect.sleep(seconds(3)), answer))
      }
      const id = yield* create("supervised")
      yield* TestClock.adjust("10 minutes")
      yield* start
      yield* untilSo(
        Effect.sync(() => model.requests.length === 1),
        "begun"
      )
      // Each answer takes 3 s, and then ten minutes to be allowed: the fourth would be there after 12 s of work.
      for (let n = 1; n <= 3; n++) {
        yield* TestClock.adjust(seconds(3))
        yield* untilIs(id, "WAITING_APPROVAL")
        yield* TestClock.adjust("10 minutes")
        const [asked] = yield* approvals.list(user, { workspaceId, limit: 1, offset: 0 })
        yield* approvals.decide(user, asked?.id ?? assert.fail(), { decision: "approve" })
        yield* untilSo(
          Effect.sync(() => model.requests.length > n),
          "goes on"
        )
      }
      assert.strictEqual((yield* stored(id)).status, "RUNNING")
      yield* TestClock.adjust(seconds(1) - 1)
      assert.strictEqual((yield* stored(id)).status, "RUNNING")
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* stored(id), exceeded)
    }).pipe(Effect.provide(layer))
  )

  it.effect("counts what others did as far as they kept it, and not the time that nobody had it", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      const id = yield* create("autonomous")
      const one = yield* startMortal("one", () => slow())
      yield* TestClock.adjust(seconds(7))
      yield* one.die
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* stored(id)).status, "RUNNING")
      // Two answers of 3 s are kept; the second of the third is not.
      yield* startNode("two")
      yield* TestClock.adjust(0)
      yield* untilSo(
        Effect.sync(() => model.requests.length === 1),
        "goes on"
      )
      yield* TestClock.adjust(seconds(4) - 1)
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2 })
      assert.strictEqual(model.requests.length, 2)
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* stored(id), exceeded)
    }).pipe(Effect.provide(layer))
  )

  it.effect("that has been used up ends it before it asks a model again", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      model.script = () =>
        Stream.unwrap(Effect.as(Effect.sleep(seconds(10) - 1), Stream.fromIterable(calls("current_time"))))
      const one = yield* startNode("one")
      const id = yield* create("autonomous")
      yield* TestClock.adjust(seconds(10) - 1)
      yield* one.stop
      yield* TestClock.adjust("10 minutes")
      yield* startNode("two")
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* stored(id), exceeded)
    }).pipe(Effect.provide(layer))
  )

  it.effect("ends a chat turn as well, and its conversation goes on", () =>
    Effect.gen(function* () {
      const { model, user, workspaceId } = yield* subject
      yield* startNode("turns", Engine.layerTurns)
      const chat = yield* Chat
      const reading = yield* Effect.forkChild(
        Stream.runCollect(yield* chat.send(user, { workspaceId, content: "hi" }))
      )
      yield* TestClock.adjust(seconds(15))
      const last = Array.from(yield* Fiber.join(reading)).at(-1)
      const { error, errorCode: code } = exceeded
      assert.deepStrictEqual(last?.event, { event: "error", data: { error, code } })
      model.script = () => Stream.fromIterable(says("ok"))
      const [conversation] = yield* chat.list(user, { workspaceId, limit: 1, offset: 0 })
      const conversationId = conversation?.id ?? assert.fail()
      yield* chat.send(user, { workspaceId, conversationId, content: "again" })
    }).pipe(Effect.provide(layer))
  )
})
