import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import { QuotaRepo } from "../../src/Services/QuotaRepo.ts"
import { RunCounts } from "../../src/Services/RunCounts.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, makeUser, newRun } from "../support/Fixtures.ts"
import { countOf, idsOf, minute, subject } from "./RunSubject.ts"

const inMillis = (millis: number) => new Date(Date.now() + millis)

export const suite = (it: It) =>
  describe("RunRepo, scheduled runs", { concurrent: false }, () => {
    it.effect("claims none before its time, which holds up no other", () =>
      Effect.gen(function* () {
        const { a, b, claim, find, runs, workspaceId } = yield* subject
        const later = yield* makeRun(workspaceId, { notBefore: inMillis(60 * minute) })
        assert.deepStrictEqual(yield* find(later.id), later)
        assert.deepStrictEqual(yield* claim(a), [])
        const due = yield* newRun(workspaceId, { createdAt: at(1) })
        assert.isTrue(
          yield* runs.insert(due, { worker: a, leaseMillis: minute, perWorkspace: 8 }),
          "none waits"
        )
        const next = yield* makeRun(workspaceId, { createdAt: at(2) })
        assert.deepStrictEqual(idsOf(yield* claim(b)), [next.id])
        assert.strictEqual(yield* countOf(workspaceId, "PENDING"), 1)
        assert.strictEqual(yield* runs.makeDue(100), 0)
        const started = yield* newRun(workspaceId, { notBefore: inMillis(60 * minute) })
        assert.isFalse(yield* runs.insert(started, { worker: a, leaseMillis: minute, perWorkspace: 0 }))
      })
    )

    it.effect("says when the first is due, and lets those wait that are, each once", () =>
      Effect.gen(function* () {
        const { a, claim, find, runs, workspaceId } = yield* subject
        while ((yield* runs.makeDue(1_000)) > 0) {}
        yield* claim("sweeper")
        const dues = yield* Effect.forEach([-2_000, -1_000, 60 * minute], (millis) =>
          makeRun(workspaceId, { notBefore: inMillis(millis) })
        )
        const [first, second, third] = dues
        if (!first || !second || !third) return assert.fail()
        assert.isAtMost(Option.getOrThrow(yield* runs.untilDue), -1_000)
        assert.strictEqual(yield* runs.makeDue(1), 1)
        assert.isNull((yield* find(first.id)).notBefore)
        const made = yield* Effect.all(
          Array.from({ length: 5 }, () => runs.makeDue(100)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...made].sort(), [0, 0, 0, 0, 1])
        const until = Option.getOrThrow(yield* runs.untilDue)
        assert.isAbove(until, 0)
        assert.isAtMost(until, 60 * minute)
        assert.deepStrictEqual(idsOf(yield* claim(a)).toSorted(), [first.id, second.id].toSorted())
      })
    )

    it.effect("counts them with what is PENDING, exactly, and not with what waits", () =>
      Effect.gen(function* () {
        const { runs, workspaceId } = yield* subject
        const counts = yield* RunCounts
        const quotas = yield* QuotaRepo
        const { id: userId } = yield* makeUser
        const before = (yield* counts.read).task
        const results = yield* Effect.all(
          [1, 2, 3, 4, 5].map((hours) =>
            Effect.flatMap(newRun(workspaceId, { notBefore: inMillis(hours * 60 * minute) }), (run) =>
              Effect.result(runs.insert(run, undefined, [], { free: 3, pro: 3 }))
            )
          ),
          { concurrency: "unbounded" }
        )
        const failures = results.filter(Result.isFailure)
        assert.deepStrictEqual(
          failures.map(({ failure }) => failure instanceof PlanLimitExceeded),
          [true, true]
        )
        const used = Effect.map(
          quotas.count(workspaceId, userId, at()),
          (found) => Option.getOrThrow(found).used.pendingRuns
        )
        assert.strictEqual(yield* used, 3)
        assert.strictEqual((yield* counts.read).task.waiting, before.waiting)
        assert.strictEqual(yield* countOf(workspaceId, "PENDING"), 3)
      })
    )

    it.effect("cancels one before its time, and retries it at once", () =>
      Effect.gen(function* () {
        const { a, claim, runs, status, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId, { notBefore: inMillis(60 * minute) })
        assert.isTrue(yield* runs.cancel(id, at(1)))
        assert.strictEqual(yield* status(id), "CANCELLED")
        assert.deepInclude(yield* runs.retry(id, at(2)), { status: "PENDING", notBefore: null })
        assert.deepStrictEqual(idsOf(yield* claim(a)), [id])
      })
    )

    it.effect("takes those first of a workspace that were made first, once they are due", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId } = yield* subject
        const early = yield* makeRun(workspaceId, { notBefore: inMillis(-1_000) })
        const late = yield* makeRun(workspaceId, { createdAt: at(9) })
        yield* runs.makeDue(1_000)
        assert.deepStrictEqual(idsOf(yield* claim(a, { limit: 1 })), [early.id])
        assert.deepStrictEqual(idsOf(yield* claim(a)), [late.id])
      })
    )
  })
