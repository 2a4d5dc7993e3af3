import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Database } from "../../src/Layers/Repo/Postgres/Database.ts"
import * as Rights from "../../src/Layers/Repo/Rights.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { DatabaseWait, together } from "../../src/Services/DatabaseWait.ts"
import { RunEvents } from "../../src/Services/Engine/RunEvents.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { start } from "../support/Engine.ts"
import { makeAgent, makeRun } from "../support/Fixtures.ts"
import { layerOver, layerScripted, makeTenant, ScriptedModel, says } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"
import { isError, makeWeb } from "../support/Web.ts"

/** How long a request may wait for the database. */
const limitMillis = Settings.defaults.databaseTimeoutMillis

interface Slowness {
  /** Which part of the limit each call takes. */
  part: number
  readonly begun: Array<string>
  readonly ended: Array<string>
}

/** Each call takes its time, within the bounds that a call has. */
const slowed =
  (slowness: Slowness) =>
  <S extends object>(service: S, { query }: Database["Service"]): S =>
    Object.fromEntries(
      Object.entries(service).map(([name, method]) => [
        name,
        (...given: ReadonlyArray<unknown>) =>
          Effect.suspend(() => {
            slowness.begun.push(name)
            return Effect.sleep(limitMillis * slowness.part)
          }).pipe(
            query,
            Effect.andThen(
              Effect.suspend(() => {
                slowness.ended.push(name)
                return method(...given) as Effect.Effect<unknown>
              })
            )
          )
      ])
    ) as S

/** The use cases over a database that is slow: those of an agent, of who asks, and of where it may be seen. */
const layerSlow = (slowness: Slowness) => {
  const slow = slowed(slowness)
  return layerOver(
    Layer.fresh(Rights.layer).pipe(
      Layer.provideMerge(
        Layer.mergeAll(
          Layer.effect(AgentRepo, Effect.zipWith(AgentRepo, Database, slow)),
          Layer.effect(TokenRepo, Effect.zipWith(TokenRepo, Database, slow)),
          Layer.effect(WorkspaceRepo, Effect.zipWith(WorkspaceRepo, Database, slow))
        )
      ),
      Layer.provide(Repo.layerMemory),
      Layer.provide(Database.layer),
      Layer.provide(Layer.succeed(PgClient, {} as PgClient)),
      Layer.provide(Layer.succeed(Settings, Settings.defaults))
    )
  )
}

/** Renames an agent, for which the database is asked four times. */
const subject = Effect.fnUntraced(function* (slowness: Slowness, part: number) {
  slowness.part = 0
  const { send } = yield* makeWeb
  const { token, workspaceId } = yield* makeTenant()
  const agent = yield* makeAgent(workspaceId)
  slowness.begun.length = 0
  slowness.ended.length = 0
  slowness.part = part
  /** Requests come and go on the event loop, whatever the clock of the test says. */
  const untilBegun = (calls: number) =>
    eventually(
      Effect.sync(() => slowness.begun.length === calls),
      `${calls} calls have begun`
    )
  const rename = Effect.forkChild(
    send("PATCH", `/api/agents/${agent.id}`, { token, json: { name: "new" } }),
    {
      startImmediately: true
    }
  )
  return { rename, untilBegun }
})

describe("A request and its patience with the database", () => {
  const slowness: Slowness = { part: 0, begun: [], ended: [] }
  it.effect("waits for all of its calls together as long as it may, and then answers 503", () =>
    Effect.gen(function* () {
      const { rename, untilBegun } = yield* subject(slowness, 0.4)
      const request = yield* rename
      yield* untilBegun(1)
      yield* TestClock.adjust(0.4 * limitMillis)
      yield* untilBegun(2)
      yield* TestClock.adjust(0.4 * limitMillis)
      yield* untilBegun(3)
      yield* TestClock.adjust(0.2 * limitMillis - 1)
      assert.isUndefined(request.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* TestClock.adjust(limitMillis)
      const answer = yield* Fiber.join(request)
      isError(answer, 503, "unavailable")
      assert.strictEqual(answer.headers.get("retry-after"), "1")
      assert.strictEqual(slowness.ended.length, 2)
    }).pipe(Effect.provide(layerSlow(slowness)))
  )

  it.effect(
    "has an answer where they take no longer than that, and each request has the limit for itself",
    () =>
      Effect.gen(function* () {
        const { rename, untilBegun } = yield* subject(slowness, 0.24)
        for (const before of [0, 4]) {
          const request = yield* rename
          for (const call of [1, 2, 3, 4]) {
            yield* untilBegun(before + call)
            yield* TestClock.adjust(0.24 * limitMillis)
          }
          assert.strictEqual((yield* Fiber.join(request)).status, 200)
        }
      }).pipe(Effect.provide(layerSlow(slowness)))
  )
})

describe("What a request begins and leaves to others", () => {
  const waitHere = Effect.gen(function* () {
    return yield* DatabaseWait
  })

  it.effect("has its own patience: a run, and a turn", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const model = yield* ScriptedModel
      const waits: Array<unknown> = []
      model.script = () =>
        Stream.unwrap(
          Effect.map(waitHere, (wait) => {
            waits.push(wait)
            return Stream.fromIterable(says("ok"))
          })
        )
      yield* start
      const json = { workspaceId, prompt: "work", content: "hello" }
      assert.strictEqual((yield* send("POST", "/api/tasks", { token, json })).status, 201)
      assert.strictEqual((yield* send("POST", "/api/chat/messages", { token, json })).status, 200)
      yield* eventually(
        Effect.sync(() => waits.length === 2),
        "both are executed"
      )
      assert.deepStrictEqual(waits, [undefined, undefined])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("has its own patience: the looks at a run, of the node and of who reads it", () =>
    Effect.gen(function* () {
      const { workspaceId } = yield* makeTenant()
      const { id } = yield* makeRun(workspaceId)
      const store = yield* RunEventRepo
      const waits = { glance: new Set<unknown>(), look: new Set<unknown>() }
      const outer = yield* Deferred.make<unknown>()
      const noting = RunEventRepo.of({
        ...store,
        glance: (run) =>
          Effect.andThen(
            Effect.map(waitHere, (wait) => waits.glance.add(wait)),
            store.glance(run)
          ),
        look: (...given) =>
          Effect.andThen(
            Effect.map(waitHere, (wait) => waits.look.add(wait)),
            store.look(...given)
          )
      })
      const events = yield* Layer.build(
        Layer.fresh(RunEvents.layer).pipe(Layer.provide(Layer.succeed(RunEventRepo, noting)))
      )
      const reading = together(
        Effect.gen(function* () {
          yield* Deferred.succeed(outer, yield* waitHere)
          yield* Stream.runDrain(Context.get(events, RunEvents).follow(id, 0))
        })
      )
      yield* Effect.forkChild(reading, { startImmediately: true })
      const claimed = { worker: "other", limit: 1, leaseMillis: 1e9, perWorkspace: 8 }
      yield* (yield* RunRepo).claim(claimed)
      yield* TestClock.adjust("3 seconds")
      assert.isDefined(yield* Deferred.await(outer))
      // They are made for many readers: none shares its patience with what it is asked for.
      assert.deepStrictEqual([...waits.glance], [undefined])
      assert.deepStrictEqual([...waits.look], [undefined])
    }).pipe(Effect.scoped, Effect.provide(layerScripted()))
  )
})
