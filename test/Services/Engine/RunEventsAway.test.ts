import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import type { NumberedEvent } from "../../../src/Schemas/RunEvent.ts"
import { RunEvents } from "../../../src/Services/Engine/RunEvents.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { append } from "../../support/Appended.ts"
import { makeRun } from "../../support/Fixtures.ts"
import { layerScripted, makeTenant } from "../../support/Service.ts"

const delta = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: `${id}` } }
})

/**
 * A run that is executed elsewhere, with one event, and its readers over a store whose reads fail as the test says.
 * The looks of the node itself, at all runs that are read, succeed: nothing but a timer can bring a reader back.
 */
const subject = Effect.gen(function* () {
  const { workspaceId } = yield* makeTenant()
  const { id } = yield* makeRun(workspaceId)
  yield* (yield* RunRepo).claim({ worker: "other", limit: 1, leaseMillis: 1e9, perWorkspace: 8 })
  const store = yield* RunEventRepo
  const tell = (event: NumberedEvent) => append(store, { id, worker: "other", epoch: 1 }, [[event]])
  yield* tell(delta(1))

  const state = { fails: () => false, readAt: [] as Array<number> }
  const look: RunEventRepo["Service"]["look"] = (...given) =>
    Effect.gen(function* () {
      state.readAt.push(yield* Clock.currentTimeMillis)
      return state.fails() ? yield* new Unavailable({ error: "away" }) : yield* store.look(...given)
    })
  const events = Layer.fresh(RunEvents.layer).pipe(
    Layer.provide(Layer.succeed(RunEventRepo, { ...store, look })),
    Layer.build
  )
  const { follow } = Context.get(yield* events, RunEvents)
  const reading = Effect.fnUntraced(function* () {
    const seen: Array<NumberedEvent> = []
    yield* Effect.forkChild(
      Stream.runForEach(follow(id as RunId, 0), (event) => Effect.sync(() => void seen.push(event))),
      { startImmediately: true }
    )
    return seen
  })
  return { tell, reading, state }
})

const last = (seen: ReadonlyArray<NumberedEvent>) => {
  const event = seen.at(-1)?.event
  return event?.event === "error" ? event.data.code : seen.at(-1)?.id
}

describe("A reader of events whose store is away", () => {
  it.effect("looks again within 5 s where one look failed, although nobody tells it of anything", () =>
    Effect.gen(function* () {
      const { reading, state, tell } = yield* subject
      const seen = yield* reading()
      yield* TestClock.adjust(1_500)
      assert.strictEqual(last(seen), 1)
      state.fails = () => true
      state.readAt.length = 0
      yield* tell(delta(2))
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(state.readAt.length, 1, "it was told, and its look failed")
      assert.strictEqual(last(seen), 1)
      state.fails = () => false
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(last(seen), 2)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect("is let go when it could not look for a minute, and not before", () =>
    Effect.gen(function* () {
      const { reading, state, tell } = yield* subject
      const seen = yield* reading()
      yield* TestClock.adjust(1_500)
      state.fails = () => true
      yield* tell(delta(2))
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(last(seen), 1)
      yield* TestClock.adjust("7 seconds")
      assert.strictEqual(last(seen), "unavailable")
      assert.strictEqual(seen.at(-1)?.id, 1, "from here it can be taken up")
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect("does not ask at the same moment as a thousand others, and seldom", () =>
    Effect.gen(function* () {
      const { reading, state, tell } = yield* subject
      const seen = yield* Effect.replicateEffect(reading(), 1_000)
      yield* TestClock.adjust(1_500)
      state.fails = () => true
      state.readAt.length = 0
      yield* tell(delta(2))
      yield* TestClock.adjust("1 second")
      // They were told together, and asked together.
      const [told] = state.readAt
      const again = state.readAt.filter((at) => at !== told)
      yield* TestClock.adjust("30 seconds")
      again.push(...state.readAt.filter((at) => at > (told ?? 0) + 1_000))
      const perMilli = new Map<number, number>()
      for (const at of again) perMilli.set(Math.floor(at), (perMilli.get(Math.floor(at)) ?? 0) + 1)
      assert.isAtMost(Math.max(...perMilli.values()), 50)
      assert.isAtLeast(again.length, 5_000, "each goes on asking")
      assert.isAtMost(again.length, 20_000)
      state.fails = () => false
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(seen.every((one) => last(one) === 2))
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )
})
