import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { NumberedEvent } from "../../../src/Schemas/RunEvent.ts"
import { monotonicMillis } from "../../../src/Services/CurrentTime.ts"
import { callTool } from "../../../src/Services/Engine/CallTool.ts"
import { RunEvents } from "../../../src/Services/Engine/RunEvents.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { append } from "../../support/Appended.ts"
import { withSettableClock } from "../../support/Clocks.ts"
import { away, Faults, layerFaulty, start, stored } from "../../support/Engine.ts"
import { makeRun } from "../../support/Fixtures.ts"
import { tool } from "../../support/Loop.ts"
import { layerAtRest, makeTenant, ScriptedModel } from "../../support/Service.ts"

const hour = 60 * 60_000
const leaseMillis = 15_000

/** What a reader has been told of a run. */
const reading = Effect.fnUntraced(function* (stream: Stream.Stream<NumberedEvent>) {
  const seen: Array<NumberedEvent> = []
  yield* Effect.forkChild(
    Stream.runForEach(stream, (event) => Effect.sync(() => void seen.push(event))),
    { startImmediately: true }
  )
  return seen
})

const codesOf = (seen: ReadonlyArray<NumberedEvent>) =>
  seen.map(({ event }) => (event.event === "error" ? event.data.code : event.event))

/** Readers of a store of events. */
const eventsOver = (log: RunEventRepo["Service"]) =>
  Effect.map(
    Layer.build(Layer.fresh(RunEvents.layer).pipe(Layer.provide(Layer.succeed(RunEventRepo, log)))),
    Context.get(RunEvents)
  )

describe("A time of day that is set back by an hour", () => {
  it.effect("is what a test sets, and nothing else moves", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(hour)
        yield* set(-hour)
        assert.deepStrictEqual([yield* Clock.currentTimeMillis, yield* monotonicMillis], [0, hour])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual([yield* Clock.currentTimeMillis, yield* monotonicMillis], [1, hour + 1])
      })
    )
  )

  it.effect("keeps nobody from taking over what a node left behind", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        model.script = () => Stream.never
        const repo = yield* RunRepo
        const { workspaceId } = yield* makeTenant()
        yield* TestClock.adjust(hour)
        yield* start
        yield* TestClock.adjust("10 seconds")
        const { id } = yield* makeRun(workspaceId)
        yield* repo.claim({ worker: "gone", limit: 1, leaseMillis, perWorkspace: 8 })
        yield* set(-hour)
        yield* TestClock.adjust(leaseMillis + 2_000)
        assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2, epoch: 2 })
      }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
    )
  )

  it.effect("lets no execution go on behind the end of its lease", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const stopped: Array<string> = []
        const stop = Effect.sync(() => void stopped.push("stopped"))
        model.script = () => Stream.fromEffect(Effect.onInterrupt(Effect.never, () => stop))
        const { user, workspaceId } = yield* makeTenant()
        const faults = yield* Faults
        faults.before = (call) => (call === "renew" ? away : Effect.void)
        yield* start
        yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
        yield* TestClock.adjust("1 second")
        yield* set(-hour)
        yield* TestClock.adjust(leaseMillis - 1_000)
        assert.strictEqual(stopped.length, 1)
      }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
    )
  )

  it.effect("ends streams as it would have: of a store that is away, and of who may read no more", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        const store = yield* RunEventRepo
        const { user, workspaceId } = yield* makeTenant()
        const { id } = yield* makeRun(workspaceId)
        const told: NumberedEvent = { id: 1, event: { event: "status", data: { status: "thinking" } } }
        yield* (yield* RunRepo).claim({ worker: "w", limit: 1, leaseMillis: hour, perWorkspace: 1 })
        const lost = yield* eventsOver({ ...store, glance: () => away, look: () => away })
        const silent = yield* reading(lost.follow(id, 0))
        const expelled = yield* reading(Option.getOrThrow(yield* (yield* Runs).events(user, id, 0)))
        yield* TestClock.adjust("20 seconds")
        yield* (yield* WorkspaceRepo).removeMember(workspaceId, user.id)
        yield* set(-hour)
        yield* TestClock.adjust("5 seconds")
        yield* append(store, { id, worker: "w", epoch: 1 }, [[told]])
        yield* TestClock.adjust("45 seconds")
        assert.deepStrictEqual([codesOf(silent), codesOf(expelled)], [["unavailable"], ["forbidden"]])
      }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
    )
  )

  it.effect("is not what a tool call took", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        const slow = tool("slow", () =>
          Effect.sleep("2 seconds").pipe(
            Effect.andThen(set(-hour)),
            Effect.andThen(Effect.sleep("3 seconds")),
            Effect.as("done")
          )
        )
        const call = { id: "call_1", name: "slow", arguments: {} }
        const where = {
          destination: { binding: null, tool: Effect.succeed(slow) },
          waits: false,
          names: () => []
        }
        const permission = { type: "allowed", isApproved: false } as const
        const permit = () => Effect.succeed(permission)
        const calling = yield* Effect.forkChild(callTool(call, { ...where, permission, permit }))
        yield* TestClock.adjust("5 seconds")
        const exit = calling.pollUnsafe()
        assert.isTrue(exit?._tag === "Success" && exit.value.result.durationMs === 5_000)
      })
    )
  )
})
