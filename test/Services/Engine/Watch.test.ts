import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { AutonomyLevel } from "../../../src/Schemas/Autonomy.ts"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { RunEvent } from "../../../src/Schemas/RunEvent.ts"
import { Approvals } from "../../../src/Services/Approvals.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Signals } from "../../../src/Services/Signals.ts"
import { betweenPolls, start, withinOneMilli } from "../../support/Engine.ts"
import { calls, finish, layerScripted, makeTenant, ScriptedModel } from "../../support/Service.ts"

const flushMillis = 250

const label = (event: RunEvent): string =>
  event.event !== "status"
    ? event.event
    : event.data.status === "responding"
      ? event.data.delta
      : event.data.status

/** A run whose model says what the test says, and somebody who reads its events as another node would. */
const subject = Effect.fnUntraced(function* (autonomyLevel?: AutonomyLevel) {
  const model = yield* ScriptedModel
  const runs = yield* Runs
  const { user, workspaceId } = yield* makeTenant()
  const said = yield* Queue.unbounded<InferenceEvent>()
  model.script = () => Stream.takeUntil(Stream.fromQueue(said), ({ type }) => type === "finish")
  const input = { workspaceId, prompt: "work", ...(autonomyLevel !== undefined && { autonomyLevel }) }
  const { id } = yield* runs.create(user, input)
  const seen: Array<string> = []
  const read = Effect.flatMap(Effect.map(runs.events(user, id, 0), Option.getOrThrow), (events) =>
    Effect.forkChild(
      Stream.runForEach(events, ({ event }) => Effect.sync(() => void seen.push(label(event)))),
      { startImmediately: true }
    )
  )
  const tell = (...events: ReadonlyArray<InferenceEvent>) => Queue.offerAll(said, events)
  const say = (delta: string) => tell({ type: "text", delta })
  return { id, model, read, runs, say, seen, tell, user, workspaceId }
})

describe("Who reads a run elsewhere sees within a millisecond", () => {
  it.effect("the first that it tells", () =>
    Effect.gen(function* () {
      const { read, seen } = yield* subject()
      yield* read
      yield* betweenPolls
      assert.deepStrictEqual(seen, [])
      yield* start
      yield* withinOneMilli
      assert.deepStrictEqual(seen, ["thinking"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("what is kept of it, and its end", () =>
    Effect.gen(function* () {
      const { read, say, seen, tell } = yield* subject()
      yield* read
      yield* betweenPolls
      yield* start
      yield* withinOneMilli
      yield* say("a")
      yield* TestClock.adjust(flushMillis)
      yield* withinOneMilli
      assert.deepStrictEqual(seen, ["thinking", "a"])
      yield* tell(finish)
      yield* withinOneMilli
      assert.deepStrictEqual(seen, ["thinking", "a", "done"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("what is kept of it when it has told nothing for a minute", () =>
    Effect.gen(function* () {
      const { read, say, seen } = yield* subject()
      yield* start
      yield* read
      yield* TestClock.adjust("1 minute")
      yield* betweenPolls
      yield* say("a")
      yield* TestClock.adjust(flushMillis)
      yield* withinOneMilli
      assert.deepStrictEqual(seen, ["thinking", "a"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("that it was cancelled, also when nobody executes it", () =>
    Effect.gen(function* () {
      const { id, read, runs, seen, user } = yield* subject()
      yield* (yield* RunRepo).claim({ worker: "gone", limit: 1, leaseMillis: 60_000, perWorkspace: 1 })
      yield* read
      yield* betweenPolls
      yield* runs.cancel(user, id)
      yield* withinOneMilli
      assert.deepStrictEqual(seen, ["error"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("that it goes on when somebody has decided, and what it tells then", () =>
    Effect.gen(function* () {
      const { model, read, say, seen, tell, user, workspaceId } = yield* subject("supervised")
      yield* start
      yield* read
      yield* tell(...calls("current_time"))
      const approvals = yield* Approvals
      const waiting = approvals.list(user, { workspaceId, limit: 1, offset: 0 })
      // What an approval is bound to is digested outside of the test's clock.
      while ((yield* waiting).length === 0) yield* TestClock.adjust(1)
      yield* TestClock.adjust("1 minute")
      yield* betweenPolls
      assert.deepStrictEqual(seen, ["thinking", "tool_call", "waiting_approval"])
      const [approval] = yield* waiting
      yield* approvals.decide(user, approval?.id ?? assert.fail(), { decision: "approve" })
      // Time stands still: it does not take a poll.
      while (model.requests.length < 2) yield* TestClock.adjust(0)
      yield* withinOneMilli
      assert.strictEqual(seen[3], "tool_result")
      yield* say("a")
      yield* TestClock.adjust(flushMillis)
      yield* withinOneMilli
      assert.deepStrictEqual(seen.slice(3), ["tool_result", "thinking", "a"])
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("A run that nobody reads any more", () => {
  it.effect("keeps what it tells, and no signal says so", () =>
    Effect.gen(function* () {
      const { id, read, runs, say, seen, user } = yield* subject()
      const reading = yield* read
      yield* start
      yield* betweenPolls
      assert.deepStrictEqual(seen, ["thinking"])
      yield* Fiber.interrupt(reading)
      yield* TestClock.adjust("10 seconds")
      const signals: Array<string> = []
      yield* (yield* (yield* Signals).subscribe).pipe(
        Stream.runForEach(({ type }) => Effect.sync(() => void signals.push(type))),
        Effect.forkScoped
      )
      yield* say("a")
      yield* TestClock.adjust("1 second")
      const events = Option.getOrThrow(yield* runs.events(user, id, 0))
      const kept = yield* Stream.runCollect(Stream.take(events, 2))
      assert.deepStrictEqual(
        kept.map(({ event }) => label(event)),
        ["thinking", "a"]
      )
      assert.notInclude(signals, "events")
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )
})
