import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Signals } from "../../../src/Services/Signals.ts"
import { append } from "../../support/Appended.ts"
import { makeRun } from "../../support/Fixtures.ts"
import { delta, eventsOver, reader, subject } from "../../support/FollowedRuns.ts"
import { layerScripted, makeTenant } from "../../support/Service.ts"

describe("RunEvents, their looks", () => {
  it.effect("hears of more at once by a signal, and asks for signals only as long as somebody reads", () =>
    Effect.gen(function* () {
      const { execution, follow, id, log } = yield* subject
      const signals = yield* Signals
      const asked: Array<string> = []
      yield* (yield* signals.subscribe).pipe(
        Stream.runForEach((signal) => Effect.sync(() => void asked.push(signal.type))),
        Effect.forkScoped
      )
      const { fiber, ids } = yield* reader(follow(id, 0))
      yield* TestClock.adjust(100)
      yield* append(log, execution, [[delta(1)]])
      yield* signals.publish({ type: "events", ids: [id] })
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(ids(), [1])
      yield* TestClock.adjust("1 minute")
      const times = asked.filter((type) => type === "watch").length
      assert.isAtLeast(times, 12)
      assert.isAtMost(times, 17)
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(asked.filter((type) => type === "watch").length, times)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect("looks at a run once a second, however many read it and tell nothing", () =>
    Effect.gen(function* () {
      const { id } = yield* subject
      const log = yield* RunEventRepo
      let glances = 0
      let reads = 0
      const counting = RunEventRepo.of({
        ...log,
        glance: (run) =>
          Effect.suspend(() => {
            glances++
            return log.glance(run)
          }),
        look: (...given) =>
          Effect.suspend(() => {
            reads++
            return log.look(...given)
          })
      })
      const events = yield* eventsOver(counting)
      yield* Effect.replicateEffect(reader(events.follow(id, 0)), 50)
      yield* TestClock.adjust("10 seconds")
      ;[glances, reads] = [0, 0]
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(reads, 0)
      assert.isAtLeast(glances, 55)
      assert.isAtMost(glances, 65)
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect(
    "looks at all runs that are read in one statement a second, and reads what they tell in one",
    () =>
      Effect.gen(function* () {
        const { workspaceId } = yield* makeTenant()
        const repo = yield* RunRepo
        const ids: Array<RunId> = []
        for (let n = 0; n < 50; n++) ids.push((yield* makeRun(workspaceId)).id)
        yield* repo.claim({ worker: "other", limit: 50, leaseMillis: 1e9, perWorkspace: 50 })
        const log = yield* RunEventRepo
        const asked = { glance: 0, look: 0 }
        const counted =
          <A extends ReadonlyArray<unknown>, B>(name: keyof typeof asked, call: (...given: A) => B) =>
          (...given: A) => {
            asked[name]++
            return call(...given)
          }
        const events = yield* eventsOver({
          ...log,
          glance: counted("glance", log.glance),
          look: counted("look", log.look),
          read: () => Effect.die(new Error("not asked in this test"))
        })
        const readers = yield* Effect.forEach(ids, (id) => reader(events.follow(id, 0)))
        yield* TestClock.adjust("10 seconds")
        assert.isAtMost(asked.look, 2, "they began together")
        Object.assign(asked, { glance: 0, look: 0 })
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(asked, { glance: 10, look: 0 })
        const [first = assert.fail(), ...rest] = ids
        for (const id of ids) yield* append(log, { id, worker: "other", epoch: 1 }, [[delta(1)]])
        yield* (yield* Signals).publish({ type: "events", ids: [first, ...rest] })
        yield* TestClock.adjust(0)
        assert.strictEqual(asked.look, 1)
        for (const { ids: seen } of readers) assert.deepStrictEqual(seen(), [1])
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(asked.look, 1, "what was read is not looked for again")
        // What nobody signals is found by the next glance, and only its readers look.
        yield* append(log, { id: first, worker: "other", epoch: 1 }, [[delta(2)]])
        yield* TestClock.adjust("1 second")
        assert.strictEqual(asked.look, 2)
        assert.deepStrictEqual(readers[0]?.ids(), [1, 2])
      }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect("lets one run that can't be read down, and no other that is read with it", () =>
    Effect.gen(function* () {
      const { execution, id, log, workspaceId } = yield* subject
      const { id: broken } = yield* makeRun(workspaceId)
      const fails = <A extends ReadonlyArray<string>, B>(ids: A, answer: B) =>
        ids.includes(broken) ? Effect.die(new Error("it does not decode")) : answer
      const events = yield* eventsOver({
        ...log,
        glance: (ids) => fails(ids, log.glance(ids)),
        look: (readers, limit) =>
          fails(
            readers.map((one) => one.id),
            log.look(readers, limit)
          )
      })
      const readers = yield* Effect.forEach([id, broken, id], (run) => reader(events.follow(run, 0)))
      yield* TestClock.adjust(10)
      yield* append(log, execution, [[delta(1)]])
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.await(readers[1]?.fiber ?? assert.fail()))._tag, "Failure")
      assert.deepStrictEqual([readers[0]?.ids(), readers[2]?.ids()], [[1], [1]])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )

  it.effect("waits a minute for a store that is away, and says from where to go on", () =>
    Effect.gen(function* () {
      const { execution, id, log: store } = yield* subject
      yield* append(store, execution, [[delta(1)]])
      let isAway = false
      const away = new Unavailable({ error: "away" })
      const flaky = RunEventRepo.of({
        ...store,
        glance: (run) => (isAway ? Effect.fail(away) : store.glance(run)),
        look: (...given) => (isAway ? Effect.fail(away) : store.look(...given))
      })
      const events = yield* eventsOver(flaky)
      const { code, fiber, ids } = yield* reader(events.follow(id, 0))
      yield* TestClock.adjust(10)
      isAway = true
      yield* TestClock.adjust("50 seconds")
      assert.deepStrictEqual(ids(), [1])
      isAway = false
      yield* append(store, execution, [[delta(2)]])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(ids(), [1, 2])
      isAway = true
      yield* TestClock.adjust("70 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([ids(), code()], [[1, 2, 2], "unavailable"])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )
})
