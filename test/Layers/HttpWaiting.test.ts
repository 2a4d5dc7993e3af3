import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Application from "../../src/Layers/Application.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import type { InferenceEvent } from "../../src/Schemas/Inference.ts"
import type { Run, RunDetail } from "../../src/Schemas/Run.ts"
import { Lifecycle } from "../../src/Services/Lifecycle.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { start, withinOneMilli } from "../support/Engine.ts"
import {
  calls,
  layerScripted,
  layerScriptedInference,
  makeTenant,
  ScriptedModel,
  says
} from "../support/Service.ts"
import { eventually, pause } from "../support/Until.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"

const wait = (seconds: number | string) => ({ headers: { prefer: `wait=${seconds}` } })

/** A service whose model says what the test says, and requests that are under way. */
const subject = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const said = yield* Queue.unbounded<InferenceEvent>()
  model.script = () => Stream.takeUntil(Stream.fromQueue(said), ({ type }) => type === "finish")
  const { send } = yield* makeWeb
  const { token, user, workspaceId } = yield* makeTenant()
  const json = { workspaceId, prompt: "work", autonomyLevel: "supervised" }
  const begin = Effect.fnUntraced(function* (...given: Parameters<typeof send>) {
    const fiber = yield* Effect.forkChild(send(...given), { startImmediately: true })
    yield* withinOneMilli
    return fiber
  })
  return {
    begin,
    send,
    token,
    user,
    workspaceId,
    create: (seconds: number) => begin("POST", "/api/tasks", { token, json, ...wait(seconds) }),
    createNow: Effect.map(send("POST", "/api/tasks", { token, json }), dataOf<Run>),
    read: (id: string, seconds: number) => begin("GET", `/api/runs/${id}`, { token, ...wait(seconds) }),
    say: (...events: ReadonlyArray<InferenceEvent>) => Queue.offerAll(said, events)
  }
})

/** What it answers within a tenth of a second of the test's clock, however slow the machine is. */
const soon = Effect.fnUntraced(function* <A>(fiber: Fiber.Fiber<A>) {
  const isOver = Effect.sync(() => fiber.pollUnsafe() !== undefined)
  for (let n = 0; n < 50 && !(yield* isOver); n++) {
    yield* TestClock.adjust(2)
    for (let turn = 0; turn < 10 && !(yield* isOver); turn++) yield* pause
  }
  yield* eventually(isOver, "answered")
  return yield* Fiber.join(fiber)
})

/** Which reads of runs were made. */
class Reads extends Context.Service<Reads, { readonly names: Array<string> }>()("agentd/test/Reads") {}

const counting = <S extends object>(
  service: S,
  { names }: Reads["Service"],
  which: ReadonlyArray<keyof S & string>
): S => ({
  ...service,
  ...Object.fromEntries(
    which.map((name) => [
      name,
      (...given: ReadonlyArray<unknown>) => {
        names.push(name)
        return (service[name] as (...given: ReadonlyArray<unknown>) => unknown)(...given)
      }
    ])
  )
})

const layerCounting = Application.layerWith(layerScriptedInference).pipe(
  Layer.provideMerge(Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.effect(
        RunEventRepo,
        Effect.zipWith(RunEventRepo, Reads, (repo, reads) =>
          counting(repo, reads, ["glance", "look", "read"])
        )
      ),
      Layer.effect(
        RunRepo,
        Effect.zipWith(RunRepo, Reads, (repo, reads) => counting(repo, reads, ["find", "list"]))
      )
    )
  ),
  Layer.provideMerge(
    Layer.mergeAll(
      Repo.layerMemory,
      ScriptedModel.layer,
      Layer.sync(Reads, () => ({ names: [] }))
    )
  ),
  Layer.provideMerge(Layer.succeed(Settings, Settings.defaults))
)

const isUnderWay = (fiber: Fiber.Fiber<unknown>) => assert.isUndefined(fiber.pollUnsafe())

describe("Prefer: wait", () => {
  it.effect("answers a task and a run when the run is over", () =>
    Effect.gen(function* () {
      const { create, read, say, workspaceId } = yield* subject
      yield* start
      const created = yield* create(30)
      const [found] = (yield* (yield* RunRepo).list({ workspaceId, limit: 1, offset: 0 })).runs
      const reading = yield* read(found?.id ?? "", 30)
      yield* TestClock.adjust("20 seconds")
      isUnderWay(created)
      isUnderWay(reading)
      yield* say(...says("done"))
      const answer = yield* soon(created)
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers.get("preference-applied"), "wait=30")
      const run = dataOf<Run>(answer)
      assert.deepStrictEqual([run.status, run.output], ["COMPLETED", "done"])
      assert.deepStrictEqual(Object.keys(run).sort(), [
        ...["createdAt", "id", "output", "projectId", "prompt", "status", "updatedAt", "workspaceId"]
      ])
      const detail = yield* soon(reading)
      assert.strictEqual(detail.status, 200)
      assert.strictEqual(detail.headers.get("preference-applied"), "wait=30")
      assert.deepStrictEqual(
        [dataOf<RunDetail>(detail).status, dataOf<RunDetail>(detail).steps.length],
        ["COMPLETED", 1]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect(
    "waits outside of the transaction of an Idempotency-Key, and the same when it is asked again",
    () =>
      Effect.gen(function* () {
        const { begin, say, send, token, workspaceId } = yield* subject
        yield* start
        const keyed = {
          token,
          json: { workspaceId, prompt: "work" },
          headers: { prefer: "wait=30", "idempotency-key": "once" }
        }
        const first = yield* begin("POST", "/api/tasks", keyed)
        const again = yield* begin("POST", "/api/tasks", keyed)
        yield* TestClock.adjust("20 seconds")
        for (const fiber of [first, again]) isUnderWay(fiber)
        // In memory a transaction that is open keeps out everybody else.
        const agent = yield* send("POST", "/api/agents", { token, json: { workspaceId, name: "a" } })
        assert.strictEqual(agent.status, 201)
        yield* say(...says("done"))
        const answers = [yield* soon(first), yield* soon(again)]
        const replayed = answers.map(({ headers }) => headers.get("idempotency-replayed"))
        assert.deepStrictEqual(replayed, [null, "true"])
        for (const answer of answers) {
          assert.deepStrictEqual([answer.status, dataOf<Run>(answer).status], [201, "COMPLETED"])
        }
        assert.strictEqual(answers[0]?.text, answers[1]?.text)
      }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers when the run waits for people, and at once when it does so already or is over", () =>
    Effect.gen(function* () {
      const { create, read, say, send, token } = yield* subject
      yield* start
      const created = yield* create(60)
      yield* say(...calls("current_time"))
      yield* withinOneMilli
      const { id, status } = dataOf<Run>(yield* soon(created))
      assert.strictEqual(status, "WAITING_APPROVAL")
      const again = yield* soon(yield* read(id, 60))
      assert.strictEqual(dataOf<Run>(again).status, "WAITING_APPROVAL")
      assert.strictEqual(again.headers.get("preference-applied"), "wait=60")
      yield* send("POST", `/api/runs/${id}/cancel`, { token })
      assert.strictEqual(dataOf<Run>(yield* soon(yield* read(id, 60))).status, "CANCELLED")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers a run that is cancelled, whoever executes it", () =>
    Effect.gen(function* () {
      const { createNow, read, send, token } = yield* subject
      const { id } = yield* createNow
      const reading = yield* read(id, 60)
      isUnderWay(reading)
      yield* send("POST", `/api/runs/${id}/cancel`, { token })
      yield* withinOneMilli
      assert.strictEqual(dataOf<Run>(yield* soon(reading)).status, "CANCELLED")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers the run as it is when its time is over, and not before", () =>
    Effect.gen(function* () {
      const { create } = yield* subject
      const created = yield* create(5)
      yield* TestClock.adjust(4_990)
      isUnderWay(created)
      yield* TestClock.adjust(10)
      const answer = yield* soon(created)
      assert.strictEqual(answer.headers.get("preference-applied"), "wait=5")
      assert.strictEqual(dataOf<Run>(answer).status, "PENDING")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers at once when the service stops", () =>
    Effect.gen(function* () {
      const { create } = yield* subject
      const created = yield* create(60)
      yield* (yield* Lifecycle).startDraining
      yield* withinOneMilli
      assert.strictEqual(dataOf<Run>(yield* soon(created)).status, "PENDING")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("reads the run by the rights of the end: a token that was revoked meanwhile reads nothing", () =>
    Effect.gen(function* () {
      const { create, createNow, read, user } = yield* subject
      const { id } = yield* createNow
      const reading = yield* read(id, 5)
      const creating = yield* create(5)
      yield* (yield* TokenRepo).revoke(user.id, user.token.id, new Date(0))
      yield* TestClock.adjust("5 seconds")
      isError(yield* soon(reading), 401, "unauthenticated")
      // It was made, and must not be sent again.
      assert.strictEqual((yield* soon(creating)).status, 201)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("asks the store nothing while it waits", () =>
    Effect.gen(function* () {
      const { createNow, read, send, token } = yield* subject
      const { id } = yield* createNow
      const reads = yield* Reads
      const readings = yield* Effect.forEach(Array.from({ length: 20 }), () => read(id, 60))
      yield* TestClock.adjust("1 second")
      reads.names.length = 0
      yield* TestClock.adjust("58 seconds")
      readings.forEach(isUnderWay)
      assert.deepStrictEqual(reads.names, [])
      yield* send("POST", `/api/runs/${id}/cancel`, { token })
      yield* withinOneMilli
      for (const reading of readings) {
        assert.strictEqual(dataOf<Run>(yield* soon(reading)).status, "CANCELLED")
      }
      // All of them together.
      assert.strictEqual(reads.names.filter((name) => name === "glance").length, 1)
    }).pipe(Effect.provide(layerCounting))
  )

  it.effect("is refused where it can't be meant, and ignored where nothing can be waited for", () =>
    Effect.gen(function* () {
      const { createNow, send, token, workspaceId } = yield* subject
      const { id } = yield* createNow
      for (const seconds of [0, 61, "soon"]) {
        const sentence = "prefer: wait must be a whole number of seconds from 1 to 60"
        isError(
          yield* send("GET", `/api/runs/${id}`, { token, ...wait(seconds) }),
          400,
          "invalid_input",
          sentence
        )
        isError(yield* send("GET", `/api/runs/${id}`, wait(seconds)), 401, "unauthenticated")
        const list = yield* send("GET", `/api/runs?workspaceId=${workspaceId}`, { token, ...wait(seconds) })
        assert.strictEqual(list.status, 200)
      }
      const other = yield* send("GET", `/api/runs/${id}`, { token, headers: { prefer: "return=minimal" } })
      assert.isNull(other.headers.get("preference-applied"))
      isError(yield* send("GET", "/api/runs/run_none", { token, ...wait(60) }), 404, "not_found")
    }).pipe(Effect.provide(layerScripted()))
  )
})
