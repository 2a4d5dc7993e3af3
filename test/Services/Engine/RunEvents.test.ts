import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import type { NumberedEvent } from "../../../src/Schemas/RunEvent.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { LocalExecutors } from "../../../src/Services/Engine/LocalExecutors.ts"
import { RunEvents } from "../../../src/Services/Engine/RunEvents.ts"
import { Work } from "../../../src/Services/Engine/Work.ts"
import { Engine } from "../../../src/Services/Engine.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Signals } from "../../../src/Services/Signals.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { append } from "../../support/Appended.ts"
import { chatEvent } from "../../support/ChatEvents.ts"
import { Faults, layerFaulty } from "../../support/Engine.ts"
import { makeRun, newId } from "../../support/Fixtures.ts"
import { layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const delta = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: `${id}` } }
})

const completed = { status: "COMPLETED", output: "o", usage: { inputTokens: 1, outputTokens: 1 } } as const
const times = { at: new Date(0), firstTokenAt: null }

/** Reads events in a fiber; `seen` grows. */
const reader = Effect.fnUntraced(function* (stream: Stream.Stream<NumberedEvent>) {
  const seen: Array<NumberedEvent> = []
  const fiber = yield* Effect.forkChild(
    Stream.runForEach(stream, (event) => Effect.sync(() => void seen.push(event))),
    { startImmediately: true }
  )
  return { fiber, seen, ids: () => seen.map(({ id }) => id), code: () => codeOf(seen.at(-1)) }
})
const codeOf = (event: NumberedEvent | undefined) =>
  event?.event.event === "error" ? event.event.data.code : event?.event.event

/** A run that somebody executes elsewhere. */
const subject = Effect.gen(function* () {
  const { user, workspaceId } = yield* makeTenant()
  const repo = yield* RunRepo
  const { id } = yield* makeRun(workspaceId)
  yield* repo.claim({ worker: "other", limit: 1, leaseMillis: 1e9, perWorkspace: 8 })
  const execution = { id, worker: "other", epoch: 1 }
  const log = yield* RunEventRepo
  const events = yield* RunEvents
  const follow = (of: RunId, after: number) => events.follow(of, after)
  return { execution, follow, id, log, repo, user, workspaceId }
})

const eventsOver = (log: RunEventRepo["Service"]) =>
  Effect.map(
    Layer.build(Layer.fresh(RunEvents.layer).pipe(Layer.provide(Layer.succeed(RunEventRepo, log)))),
    Context.get(RunEvents)
  )

describe("RunEvents", () => {
  it.effect("gives what was told, what is told, and the end, to each of many readers", () =>
    Effect.gen(function* () {
      const { execution, follow, id, log, repo } = yield* subject
      yield* append(log, execution, [[delta(1), delta(2)]])
      const readers = yield* Effect.forEach([0, 1, 1, 2, 9], (after) => reader(follow(id, after)))
      yield* TestClock.adjust(0)
      yield* append(log, execution, [[delta(3)]])
      yield* TestClock.adjust(1_000)
      yield* repo.finish(execution, completed, times, [[delta(4)]])
      yield* TestClock.adjust(1_000)
      for (const { fiber } of readers) yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        readers.map(({ ids }) => ids()),
        [[1, 2, 3, 4, 5], [2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5], [10]]
      )
      for (const { code } of readers) assert.strictEqual(code(), "done")
    }).pipe(Effect.provide(layerScripted()))
  )

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

  it.effect("tells nothing more to who is no member any more", () =>
    Effect.gen(function* () {
      const { execution, id, log, user, workspaceId } = yield* subject
      const { code, fiber, ids } = yield* reader(Option.getOrThrow(yield* (yield* Runs).events(user, id, 0)))
      yield* append(log, execution, [[delta(1)]])
      yield* TestClock.adjust("1 minute")
      yield* append(log, execution, [[delta(2)]])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ids(), [1, 2])
      yield* (yield* WorkspaceRepo).removeMember(workspaceId, user.id)
      yield* TestClock.adjust("1 minute")
      yield* append(log, execution, [[delta(3)]])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([ids(), code()], [[1, 2, 2], "forbidden"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect.each([
    ["ends by itself", true],
    ["is cancelled while more was told than is kept", false]
  ] as const)("gives all readers of a run that %s one end, and nothing behind it", ([, isFinished]) =>
    Effect.gen(function* () {
      const { execution, id, log, repo, user } = yield* subject
      const runs = yield* Runs
      yield* append(log, execution, [[delta(1), delta(2)]])
      assert.isTrue(Option.isSome(yield* runs.events(user, id, 9)), "one that goes on has no end yet")
      if (isFinished) yield* repo.finish(execution, completed, times)
      else yield* runs.cancel(user, id)
      const endOf = Effect.fnUntraced(function* (after: number) {
        const events = yield* runs.events(user, id, after)
        return Option.isNone(events) ? undefined : (yield* Stream.runCollect(events.value)).at(-1)
      })
      const end = yield* endOf(0)
      assert.strictEqual(codeOf(end), isFinished ? "done" : "cancelled")
      const endId = end?.id ?? assert.fail()
      assert.deepStrictEqual(yield* endOf(2), end)
      // Read, and not kept: who broke off there has not read the end.
      if (!isFinished) assert.deepStrictEqual(yield* endOf(3), end)
      assert.deepStrictEqual(yield* endOf(endId - 1), end)
      assert.isUndefined(yield* endOf(endId))
      assert.isUndefined(yield* endOf(endId + 1))
      assert.isUndefined(yield* endOf(Number.MAX_SAFE_INTEGER))
      // When the events are forgotten, who broke off gets the end, and who has it may get it once more.
      yield* TestClock.adjust("1 hour")
      yield* repo.prune({ eventsBefore: new Date(1), journalsBefore: new Date(0), limit: 1_000 })
      assert.deepStrictEqual(yield* log.read(id, 0, 9), [])
      const late = yield* endOf(2)
      assert.strictEqual(codeOf(late), codeOf(end))
      assert.deepStrictEqual(yield* endOf(0), late)
      assert.isUndefined(yield* endOf(late?.id ?? assert.fail()))
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is not there for what is gone", () =>
    Effect.gen(function* () {
      const { follow, user } = yield* subject
      const id = yield* newId<RunId>("run")
      const { code, fiber } = yield* reader(follow(id, 7))
      yield* Fiber.join(fiber)
      assert.strictEqual(code(), "conversation_deleted")
      assert.strictEqual((yield* Effect.flip((yield* Runs).events(user, id, 0)))._tag, "NotFound")
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("RunEvents while the node stops", () => {
  /** A turn that is being answered, with somebody who reads it again. */
  const answering = Effect.gen(function* () {
    const given = yield* subject
    const model = yield* ScriptedModel
    const gate = yield* makeGate
    model.script = () =>
      Stream.fromEffect(gate.wait).pipe(Stream.flatMap(() => Stream.fromIterable(says("ok"))))
    const live = yield* reader(
      yield* (yield* Chat).send(given.user, { workspaceId: given.workspaceId, content: "hi" })
    )
    while (model.requests.length === 0 || live.seen.length === 0) yield* Effect.yieldNow
    const first = live.seen.map(chatEvent)[0]
    const turnId = first?.event === "conversation" ? first.data.turnId : assert.fail()
    const again = yield* reader(given.follow(turnId, 0))
    const lifecycle = yield* Lifecycle
    const engine = yield* Engine
    const parked = yield* reader(given.follow((yield* makeRun(given.workspaceId)).id, 0))
    yield* TestClock.adjust(10)
    yield* lifecycle.startDraining
    yield* Effect.forkChild(Effect.andThen(engine.drain("turn", 10_000), lifecycle.endDraining))
    yield* TestClock.adjust(500)
    return { again, gate, live, parked }
  })

  it.effect("shows the end of a turn that is finished meanwhile, and lets others go at once", () =>
    Effect.gen(function* () {
      const { again, gate, live, parked } = yield* answering
      assert.strictEqual(parked.code(), "unavailable")
      yield* gate.open
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual([live.code(), again.code()], ["done", "done"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("ends in order with a turn that is handed back", () =>
    Effect.gen(function* () {
      const { again, live } = yield* answering
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([live.code(), again.code()], ["unavailable", "unavailable"])
      assert.strictEqual(live.ids().at(-1), live.ids().at(-2))
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("Turns of one node", () => {
  it.effect("find room where they are posted, also while others are claimed", () =>
    Effect.gen(function* () {
      const faults = yield* Faults
      const turns = (yield* (yield* LocalExecutors).local("turn")) ?? assert.fail()
      const claimed = yield* makeGate
      faults.before = (call) => (call === "claim" ? claimed.wait : Effect.void)
      yield* (yield* Signals).publish({ type: "runs", kind: "turn" })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(turns.reserve(64), 56, "what a claim may bring has its places, too")
      yield* claimed.open
    }).pipe(Effect.provide(layerFaulty({ turnConcurrency: 64 })))
  )

  it.effect("are executed although what they told can't be read, with ids of their own", () =>
    Effect.gen(function* () {
      const { execution, id, log, repo } = yield* subject
      yield* append(log, execution, [[delta(1)]])
      yield* repo.release("other", { crashed: false, maxCrashes: 3 })
      const broken = RunEventRepo.of({ ...log, read: () => Effect.die(new Error("it does not decode")) })
      const work = yield* Effect.provide(
        Work,
        Layer.fresh(Work.layer).pipe(Layer.provide(Layer.succeed(RunEventRepo, broken)))
      )
      const [run] = yield* repo.claim({ worker: "node", limit: 1, leaseMillis: 1e6, perWorkspace: 8 })
      assert.strictEqual(run?.id, id)
      assert.strictEqual(yield* work.execute(run ?? assert.fail()), "COMPLETED")
      const told = (yield* log.read(id, 0, 99)).map((event) => event.id)
      assert.strictEqual(told[0], 1)
      assert.isAbove(told[1] ?? 0, 1_000_000)
    }).pipe(Effect.provide(layerScripted()))
  )
})
