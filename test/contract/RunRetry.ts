import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import { NotFound } from "../../src/Schemas/Errors.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import { endIdOf, type NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import { RunNotRetryable } from "../../src/Schemas/RunRetry.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { QuotaRepo } from "../../src/Services/QuotaRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { append } from "../support/Appended.ts"
import type { It } from "../support/Backends.ts"
import { below, isLucky, pick } from "../support/Chance.ts"
import { at, makeApproval, makeRun, makeUser, makeWorkspace, newId } from "../support/Fixtures.ts"
import { completed, countOf, executionOf, failed, idsOf, minute, subject, times } from "./RunSubject.ts"
import { makeTurn } from "./RunTurns.ts"

const usage = { inputTokens: 3, outputTokens: 4 }
const answer = (text: string): JournalStep => ({ type: "model", text, toolCalls: [], usage })
const half: JournalStep = { type: "model", text: "Once", toolCalls: [], usage, truncated: "cut" }
const told = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: String(id) } }
})

/** A run that has failed, with one step that is whole. */
const broken = Effect.gen(function* () {
  const given = yield* subject
  const { a, claimOne, find, runs, workspaceId } = given
  const journal = yield* RunJournal
  const { id } = yield* makeRun(workspaceId)
  const execution = executionOf(a, yield* claimOne(a))
  assert.isTrue(yield* journal.record(execution, 0, answer("one"), [], 5_000))
  assert.isTrue(yield* runs.finish(execution, { ...failed, usage, output: "half" }, times))
  return { ...given, execution, id, journal, was: yield* find(id) }
})

const codeOf = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
  const result = yield* Effect.result(effect)
  return Result.isFailure(result) ? result.failure : undefined
})

export const suite = (it: It) =>
  describe("RunRepo, retries", { concurrent: false }, () => {
    it.effect("makes a run that failed PENDING again, with all but how it ended", () =>
      Effect.gen(function* () {
        const { b, claim, execution, find, id, journal, runs, takeOver, was, workspaceId } = yield* broken
        const again = yield* runs.retry(id, at(70))
        assert.deepStrictEqual(again, {
          ...was,
          status: "PENDING",
          output: null,
          error: null,
          errorCode: null,
          epoch: was.epoch + 1,
          finishedAt: null,
          updatedAt: at(70)
        })
        assert.deepStrictEqual(yield* find(id), again)
        assert.deepStrictEqual(yield* journal.progress(id), {
          steps: new Map([[0, answer("one")]]),
          workedMillis: 0
        })
        assert.deepStrictEqual(
          [yield* countOf(workspaceId, "PENDING"), yield* countOf(workspaceId, "FAILED")],
          [1, 0]
        )
        // Who had it before writes nothing any more.
        assert.isFalse(yield* journal.record(execution, 1, answer("late")))
        assert.isFalse(yield* runs.finish(execution, { ...failed, usage, output: "half" }, times))
        assert.deepStrictEqual(yield* takeOver(b), [])
        const [claimed] = yield* claim(b)
        assert.deepInclude(claimed, { id, attempts: was.attempts + 1, usage, startedAt: was.startedAt })
        assert.isTrue(yield* runs.finish(executionOf(b, claimed ?? assert.fail()), completed, times))
        assert.deepInclude(yield* find(id), { status: "COMPLETED", output: "Done" })
        assert.deepStrictEqual(
          [yield* countOf(workspaceId, "PENDING"), yield* countOf(workspaceId, "COMPLETED")],
          [0, 1]
        )
      })
    )

    it.effect("begins again in the order in which runs were made", () =>
      Effect.gen(function* () {
        const { b, claim, id, runs, workspaceId } = yield* broken
        const later = yield* makeRun(workspaceId, { createdAt: at(9) })
        yield* runs.retry(id, at(70))
        assert.deepStrictEqual(idsOf(yield* claim(b, { limit: 1 })), [id])
        assert.deepStrictEqual(idsOf(yield* claim(b)), [later.id])
      })
    )

    it.effect("retries what was cancelled, also before it began, and what lost its worker too often", () =>
      Effect.gen(function* () {
        const { a, claimOne, find, runs, status, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        yield* runs.cancel(id, at(1))
        assert.deepInclude(yield* runs.retry(id, at(2)), { status: "PENDING", attempts: 0 })
        assert.deepInclude(yield* claimOne(a), { id, attempts: 1 })
        yield* runs.release(a, { crashed: true, maxCrashes: 1 })
        assert.deepInclude(yield* find(id), { status: "FAILED", errorCode: "worker_lost" })
        yield* runs.retry(id, at(3))
        yield* claimOne(a)
        yield* runs.release(a, { crashed: true, maxCrashes: 2 })
        assert.strictEqual(yield* status(id), "RUNNING", "losses count anew")
        assert.deepStrictEqual(idsOf(yield* takeOver(a)), [id])
      })
    )

    it.effect("refuses what is not over or COMPLETED, turns, and what there is not", () =>
      Effect.gen(function* () {
        const { find, runs, workspaceId } = yield* subject
        for (const status of ["PENDING", "RUNNING", "WAITING_APPROVAL", "COMPLETED"] as const) {
          const run = yield* makeRun(workspaceId, { status })
          const refused = yield* codeOf(runs.retry(run.id, at(70)))
          assert.instanceOf(refused, RunNotRetryable)
          assert.include(refused?.error, status)
          assert.deepStrictEqual(yield* find(run.id), run)
        }
        const { run: turn } = yield* makeTurn(workspaceId)
        yield* runs.cancel(turn.id, at(1))
        assert.instanceOf(yield* codeOf(runs.retry(turn.id, at(70))), RunNotRetryable)
        assert.instanceOf(yield* codeOf(runs.retry(yield* newId<RunId>("run"), at(70))), NotFound)
      })
    )

    it.effect("refuses a run whose steps are forgotten, and not one whose events alone are", () =>
      Effect.gen(function* () {
        const { a, claimOne, id, journal, runs } = yield* broken
        const old = new Date(0)
        const forget = (journalsBefore: Date) =>
          Effect.repeat(runs.prune({ eventsBefore: at(minute), journalsBefore, limit: 1_000 }), {
            while: (pruned) => pruned > 0
          })
        yield* forget(old)
        yield* runs.retry(id, at(70))
        yield* runs.finish(executionOf(a, yield* claimOne(a)), failed, times)
        yield* forget(old)
        yield* forget(at(minute))
        assert.deepStrictEqual(yield* journal.steps(id), new Map())
        const refused = yield* codeOf(runs.retry(id, at(80)))
        assert.instanceOf(refused, RunNotRetryable)
        assert.include(refused?.error, "forgotten")
      })
    )

    it.effect("lets one of many retry at the same time", () =>
      Effect.gen(function* () {
        const { find, id, runs, was } = yield* broken
        const results = yield* Effect.all(
          Array.from({ length: 8 }, () => codeOf(runs.retry(id, at(70)))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter((error) => error === undefined).length, 1)
        assert.strictEqual(results.filter((error) => error instanceof RunNotRetryable).length, 7)
        assert.strictEqual((yield* find(id)).epoch, was.epoch + 1)
      })
    )

    it.effect("refuses as many as may not wait, exactly, and changes nothing then", () =>
      Effect.gen(function* () {
        const { runs, workspaceId } = yield* subject
        const made = yield* Effect.forEach([1, 2, 3, 4, 5], () => makeRun(workspaceId))
        for (const { id } of made) yield* runs.cancel(id, at(1))
        const results = yield* Effect.all(
          made.map(({ id }) => codeOf(runs.retry(id, at(70), { free: 3, pro: 9 }))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter((error) => error === undefined).length, 3)
        assert.strictEqual(results.filter((error) => error instanceof PlanLimitExceeded).length, 2)
        assert.deepStrictEqual(
          [yield* countOf(workspaceId, "PENDING"), yield* countOf(workspaceId, "CANCELLED")],
          [3, 2]
        )
        const { id: userId } = yield* makeUser
        const counted = yield* (yield* QuotaRepo).count(workspaceId, userId, at())
        assert.strictEqual(counted._tag === "Some" && counted.value.used.pendingRuns, 3)
      })
    )

    it.effect("puts an answer aside that was not whole, each time, and keeps what it cost", () =>
      Effect.gen(function* () {
        const { a, claimOne, id, journal, runs } = yield* broken
        for (const time of [1, 2]) {
          yield* runs.retry(id, at(70 + time))
          const execution = executionOf(a, yield* claimOne(a))
          assert.isTrue(yield* journal.record(execution, 1, half))
          assert.isTrue(yield* runs.finish(execution, failed, times))
        }
        yield* runs.retry(id, at(80))
        const execution = executionOf(a, yield* claimOne(a))
        assert.isTrue(yield* journal.record(execution, 1, answer("two")))
        assert.deepStrictEqual(
          Array.from(yield* journal.steps(id)).sort(([one], [other]) => one - other),
          [
            [-2, half],
            [-1, half],
            [0, answer("one")],
            [1, answer("two")]
          ]
        )
      })
    )

    it.effect("forgets what nobody decided about, and keeps what somebody did", () =>
      Effect.gen(function* () {
        const { runs, workspaceId } = yield* subject
        const approvals = yield* ApprovalRepo
        const approval = yield* makeApproval(workspaceId)
        const { runId } = approval
        const decision = { status: "APPROVED", reason: null, decidedBy: (yield* makeUser).id } as const
        assert.isTrue(yield* approvals.decide(approval.id, { ...decision, decidedAt: at(1) }))
        const kept = yield* approvals.ofRun(runId)
        yield* runs.cancel(runId, at(2))
        yield* runs.retry(runId, at(3))
        assert.deepStrictEqual(yield* approvals.ofRun(runId), kept)

        const other = yield* makeApproval(yield* makeWorkspace)
        yield* runs.cancel(other.runId, at(2))
        yield* runs.retry(other.runId, at(3))
        assert.deepStrictEqual(yield* approvals.ofRun(other.runId), [])
      })
    )

    it.effect("tells an event behind the end that there was, whatever that was", () =>
      Effect.gen(function* () {
        const { a, claimOne, find, runs, workspaceId } = yield* subject
        const events = yield* RunEventRepo
        const { id } = yield* makeRun(workspaceId)
        const lastId = Effect.map(events.glance([id]), (found) => found.get(id)?.lastId ?? 0)
        let last = 0
        /** What comes then has ids behind the end, which nobody may have read otherwise. */
        const retry = Effect.gen(function* () {
          const end = endIdOf(yield* find(id), yield* lastId)
          assert.isAbove(end, last)
          const [first, ...others] = yield* Effect.andThen(runs.retry(id, at(70)), events.read(id, end, 9))
          assert.deepStrictEqual(others, [])
          last = first?.id ?? assert.fail("nothing is told")
          return last
        })
        yield* runs.cancel(id, at(1))
        yield* retry
        yield* runs.cancel(id, at(1))
        const second = yield* retry
        const execution = executionOf(a, yield* claimOne(a))
        assert.isTrue(yield* append(events, execution, [[told(second + 1)]]))
        yield* runs.finish(execution, failed, times)
        assert.isAbove(yield* retry, second + 2)
        assert.deepStrictEqual((yield* events.read(id, 0, 99)).length, 4)
      })
    )

    it.effect("executes each step once, whatever fails and is retried", () =>
      Effect.gen(function* () {
        const { a, claim, find, journal, runs, workspaceId } = yield* Effect.map(
          Effect.all([subject, RunJournal]),
          ([given, journal]) => ({ ...given, journal })
        )
        const events = yield* RunEventRepo
        const steps = 6
        for (let round = 0; round < 10; round++) {
          const { id } = yield* makeRun(workspaceId, { createdAt: at(round) })
          const done: Array<number> = []
          const read: Array<number> = []
          let run: StoredRun = yield* find(id)
          while (run.status !== "COMPLETED") {
            const waits = run.status === "PENDING"
            if (run.status === "FAILED" || run.status === "CANCELLED") yield* runs.retry(id, at(70))
            else if (waits && (yield* isLucky(20))) yield* runs.cancel(id, at(60))
            else {
              const [claimed] = yield* claim(a)
              const execution = executionOf(a, claimed ?? assert.fail("it was not claimed"))
              const known = yield* journal.steps(id)
              const most = yield* below(steps)
              for (let index = 0; index < Math.min(steps, known.size + most); index++) {
                if (known.has(index)) continue
                const from = (yield* events.glance([id])).get(id)?.lastId ?? 0
                assert.isTrue(yield* journal.record(execution, index, answer("x"), [[told(from + 1)]]))
                done.push(index)
              }
              const isDone = (yield* journal.steps(id)).size === steps
              const how = yield* pick(["fail", "cancel", "release"] as const)
              if (isDone) yield* runs.finish(execution, completed, times)
              else if (how === "fail") yield* runs.finish(execution, failed, times)
              else if (how === "cancel") yield* runs.cancel(id, at(60))
              else yield* runs.release(a, { crashed: false, maxCrashes: 9 })
            }
            run = yield* find(id)
            // Who reads to each end comes back with its id.
            const after = read.at(-1) ?? 0
            for (const event of yield* events.read(id, after, 999)) read.push(event.id)
            if (run.finishedAt !== null)
              read.push(endIdOf(run, (yield* events.glance([id])).get(id)?.lastId ?? 0))
          }
          assert.deepStrictEqual(done, [0, 1, 2, 3, 4, 5])
          assert.deepStrictEqual(
            read,
            Array.from(new Set(read)).sort((one, other) => one - other)
          )
          assert.isTrue((yield* events.read(id, 0, 999)).every((event) => read.includes(event.id)))
        }
        assert.deepStrictEqual(
          [yield* countOf(workspaceId, "COMPLETED"), yield* countOf(workspaceId, "FAILED")],
          [10, 0]
        )
      })
    )
  })
