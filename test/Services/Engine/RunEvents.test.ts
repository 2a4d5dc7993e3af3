import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { LocalExecutors } from "../../../src/Services/Engine/LocalExecutors.ts"
import { Work } from "../../../src/Services/Engine/Work.ts"
import { Engine } from "../../../src/Services/Engine.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Signals } from "../../../src/Services/Signals.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { append } from "../../support/Appended.ts"
import { chatEvent } from "../../support/ChatEvents.ts"
import { Faults, layerFaulty } from "../../support/Engine.ts"
import { makeRun, newId } from "../../support/Fixtures.ts"
import { codeOf, completed, delta, reader, subject, times } from "../../support/FollowedRuns.ts"
import { layerScripted, makeGate, ScriptedModel, says } from "../../support/Service.ts"

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
