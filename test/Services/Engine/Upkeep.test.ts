import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import type { AuditEntryId, MessageId } from "../../../src/Schemas/Ids.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { AuditRepo } from "../../../src/Services/AuditRepo.ts"
import { Auth } from "../../../src/Services/Auth.ts"
import { now } from "../../../src/Services/CurrentTime.ts"
import * as Upkeep from "../../../src/Services/Engine/Upkeep.ts"
import { IdempotencyRepo } from "../../../src/Services/IdempotencyRepo.ts"
import * as Metrics from "../../../src/Services/Metrics.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Snapshots } from "../../../src/Services/Snapshots.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { makeConversation, newId, newRun } from "../../support/Fixtures.ts"
import { layerAtRest, makeTenant } from "../../support/Service.ts"

const hour = 60 * 60_000
const settings = { eventMillis: hour, journalMillis: 30 * hour }

/** A run that ends now, with an event and a step. */
const makeEnded = Effect.fnUntraced(function* (kind: "task" | "turn") {
  const runs = yield* RunRepo
  const { workspaceId } = yield* makeTenant()
  const turn =
    kind === "task"
      ? null
      : {
          conversationId: (yield* makeConversation(workspaceId)).id,
          replyId: yield* newId<MessageId>("message")
        }
  const { id } = yield* Effect.tap(newRun(workspaceId, { turn }), (run) =>
    runs.insert(run, { worker: "w", leaseMillis: hour, perWorkspace: 1 })
  )
  const execution = { id, worker: "w", epoch: 1 }
  yield* (yield* RunJournal).record(
    execution,
    0,
    { type: "model", text: "", toolCalls: [], usage: noUsage },
    [[{ id: 1, event: { event: "status", data: { status: "responding", delta: "x" } } }]]
  )
  const outcome = { status: "COMPLETED", output: "", usage: noUsage } as const
  assert.isTrue(yield* runs.finish(execution, outcome, { at: yield* now, firstTokenAt: null }))
  /** Its events, its steps, and whether it is still there. */
  return Effect.gen(function* () {
    return [
      (yield* (yield* RunEventRepo).read(id, 0, 9)).length,
      (yield* (yield* RunJournal).steps(id)).size,
      Option.isSome(yield* runs.find(id))
    ]
  })
})

describe("Upkeep", () => {
  it.effect(
    "forgets the events of a run in a minute of their time, and its journal and turns at theirs",
    () =>
      Effect.gen(function* () {
        const [ofTask, ofTurn] = [yield* makeEnded("task"), yield* makeEnded("turn")]
        yield* Upkeep.start
        const kept = Effect.all([ofTask, ofTurn])
        yield* TestClock.adjust(settings.eventMillis)
        assert.deepStrictEqual(yield* kept, [
          [1, 1, true],
          [1, 1, true]
        ])
        yield* TestClock.adjust("61 seconds")
        assert.deepStrictEqual(yield* kept, [
          [0, 1, true],
          [0, 1, true]
        ])
        yield* TestClock.adjust(settings.journalMillis - settings.eventMillis - 61_000)
        assert.deepStrictEqual(yield* kept, [
          [0, 1, true],
          [0, 1, true]
        ])
        yield* TestClock.adjust("61 seconds")
        assert.deepStrictEqual(yield* kept, [
          [0, 0, true],
          [0, 0, false]
        ])
      }).pipe(Effect.scoped, Effect.provide(layerAtRest(settings)))
  )

  it.effect("forgets runs altogether in a minute of their time, where there is one", () =>
    Effect.gen(function* () {
      const kept = Effect.all([yield* makeEnded("task"), yield* makeEnded("turn")])
      yield* Upkeep.start
      yield* TestClock.adjust(2 * hour)
      assert.deepStrictEqual(yield* kept, [
        [0, 1, true],
        [0, 1, true]
      ])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(yield* kept, [
        [0, 0, false],
        [0, 0, false]
      ])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest({ ...settings, runMillis: 2 * hour })))
  )

  it.effect("forgets tokens 30 days after their end, however many, and none that works", () =>
    Effect.gen(function* () {
      const tokens = yield* TokenRepo
      const { user } = yield* makeTenant()
      const auth = yield* Auth
      const issue = (expiresAt: Date | null) =>
        Effect.map(auth.issue({ userId: user.id, name: "t", expiresAt }), ({ token }) => token)
      const many = yield* Effect.replicateEffect(issue(new Date(hour)), 450)
      const [working, revoked] = [yield* issue(null), yield* issue(null)]
      yield* TestClock.adjust(hour)
      yield* tokens.revoke(user.id, revoked.id, yield* now)
      yield* TestClock.adjust(30 * 24 * hour - hour)
      yield* Upkeep.start
      const kept = Effect.map(
        Effect.forEach([working, revoked, ...many], ({ hash }) => tokens.findByHash(hash)),
        (found) => found.filter(Option.isSome).length
      )
      yield* TestClock.adjust(hour)
      assert.strictEqual(yield* kept, 452)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* kept, 1)
      assert.isTrue(Option.isSome(yield* tokens.findByHash(working.hash)))
    }).pipe(Effect.scoped, Effect.provide(layerAtRest(settings)))
  )

  it.effect("forgets idempotency keys that are expired, however many, and no others", () =>
    Effect.gen(function* () {
      const keys = yield* IdempotencyRepo
      const { user } = yield* makeTenant()
      const row = {
        userId: user.id,
        workspaceId: null,
        request: "r",
        answer: "{}",
        sealed: null,
        turnId: null
      }
      for (let n = 0; n < 450; n++) yield* keys.insert({ ...row, id: `old ${n}` }, hour)
      yield* keys.insert({ ...row, id: "kept" }, 4 * hour)
      yield* Upkeep.start
      yield* TestClock.adjust(2 * hour)
      assert.strictEqual(yield* keys.prune(1000), 0)
      assert.isTrue(Option.isSome(yield* keys.find("kept")))
    }).pipe(Effect.scoped, Effect.provide(layerAtRest(settings)))
  )

  it.effect("forgets entries of the audit log that are old, many at a time", () =>
    Effect.gen(function* () {
      const { workspaceId } = yield* makeTenant()
      const audit = yield* AuditRepo
      const newEntry = Effect.gen(function* () {
        const id = yield* newId<AuditEntryId>("auditEntry")
        const actor = { system: "agentd" }
        const nothing = { targetId: null, requestId: null, address: null }
        return { id, workspaceId, at: yield* now, actor, action: "secret.use", ...nothing }
      })
      yield* audit.add(yield* Effect.replicateEffect(newEntry, 2_500))
      yield* TestClock.adjust(1)
      yield* audit.add([yield* newEntry])
      const kept = Effect.map(audit.list({ workspaceId, after: null, limit: 9_999 }), ({ length }) => length)
      yield* TestClock.adjust(settings.eventMillis - 1)
      yield* Upkeep.start
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* kept, 2_501)
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped, Effect.provide(layerAtRest({ auditMillis: settings.eventMillis })))
  )

  it.effect("shows how old the oldest snapshot is, and warns of one once in its time", () =>
    Effect.gen(function* () {
      let seconds = 899
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") warnings.push(message)
      })
      const minutes = Effect.fnUntraced(function* (held: number) {
        seconds = held
        yield* TestClock.adjust("1 minute")
        return [(yield* Metric.value(Metrics.oldestSnapshot)).value, warnings.length]
      })
      yield* Upkeep.start.pipe(
        Effect.provideService(Snapshots, { oldestSeconds: Effect.sync(() => seconds) }),
        Effect.provide(Logger.layer([logger]))
      )
      assert.deepStrictEqual(yield* minutes(899), [899, 0])
      assert.deepStrictEqual(yield* minutes(900), [900, 1])
      assert.deepStrictEqual(yield* minutes(960), [960, 1])
      assert.deepStrictEqual(yield* minutes(0), [0, 1])
      assert.deepStrictEqual(yield* minutes(1_000), [1_000, 2])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )
})
