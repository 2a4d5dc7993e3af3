import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ProviderKeyId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { NewRun } from "../../src/Schemas/Run.ts"
import { nothingSpent, type Spent } from "../../src/Schemas/Usage.ts"
import type { UsageGroup } from "../../src/Schemas/UsageReport.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UsageRepo } from "../../src/Services/UsageRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeAgent, makeRun, makeWorkspace, newId } from "../support/Fixtures.ts"
import { completed, executionOf, minute, sweep, times } from "./RunSubject.ts"
import { makeTurn } from "./RunTurns.ts"

const answeredBy = { provider: "openai", model: "m", providerKeyId: "pkey_1" as ProviderKeyId }

const model = (
  usage: { readonly inputTokens: number; readonly cachedInputTokens?: number; readonly outputTokens: number },
  costNanos: number | null,
  more: Partial<JournalStep> = {}
) => ({ type: "model", text: "x", toolCalls: [], usage, costNanos, ...more }) as JournalStep
const first = (costNanos: number | null = 70) =>
  model({ inputTokens: 10, cachedInputTokens: 4, outputTokens: 3 }, costNanos, { answeredBy })
const second = model({ inputTokens: 20, outputTokens: 5 }, 100)
const tool: JournalStep = {
  type: "tool",
  result: { id: "1", name: "read", result: null, isError: false, durationMs: 1 }
}

/** All days that there are. */
const always = { from: "0001-01-01", to: "9999-01-01" }

const nothing = {
  runs: 0,
  turns: 0,
  modelCalls: 0,
  toolCalls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  costNanos: 0,
  unknownCalls: 0
}

const subject = Effect.gen(function* () {
  const journal = yield* RunJournal
  const runs = yield* RunRepo
  const usage = yield* UsageRepo
  const workspaceId = yield* makeWorkspace
  const worker = yield* newId<string>("run")
  /** A run that is executed. */
  const started = Effect.fnUntraced(function* (given: Partial<NewRun> = {}, of: WorkspaceId = workspaceId) {
    const run = yield* makeRun(of, given)
    const claimed = yield* runs.claim({ worker, limit: 1000, leaseMillis: minute, perWorkspace: 1000 })
    const ours = claimed.find(({ id }) => id === run.id) ?? assert.fail("not claimed")
    return executionOf(worker, ours)
  })
  const sums = (groupBy: UsageGroup, most = 100) => usage.sums({ ...always, workspaceId, groupBy, most })
  const total = Effect.map(sums("kind"), (found) => found[0] ?? { key: null, ...nothing })
  /** What is read is the same however much of it is folded, also one in the middle. */
  const folded = Effect.andThen(Effect.andThen(usage.fold, usage.fold), usage.fold)
  return { folded, journal, runs, started, sums, total, usage, worker, workspaceId }
})

export const suite = (it: It) =>
  describe("UsageRepo", { concurrent: false }, () => {
    it.effect("counts the steps of runs, also while they are folded", () =>
      Effect.gen(function* () {
        const { folded, journal, started, sums, usage, workspaceId } = yield* subject
        assert.deepStrictEqual(yield* sums("day"), [])
        assert.deepStrictEqual(yield* usage.booked(workspaceId), { tokens: 0, costNanos: 0, unknownCalls: 0 })
        const execution = yield* started()
        for (const [index, step] of [first(), tool, tool, second].entries())
          assert.isTrue(yield* journal.record(execution, index, step))
        const expected = {
          key: "task",
          runs: 1,
          turns: 0,
          modelCalls: 2,
          toolCalls: 2,
          inputTokens: 30,
          cachedInputTokens: 4,
          outputTokens: 8,
          costNanos: 170,
          unknownCalls: 0
        }
        for (const _ of [1, 2, 3]) {
          assert.deepStrictEqual(yield* sums("kind"), [expected])
          assert.deepStrictEqual(yield* sums("model"), [{ ...expected, key: "openai/m" }])
          assert.deepStrictEqual(yield* sums("agent"), [{ ...expected, key: null }])
          const [day] = yield* sums("day")
          assert.match(day?.key ?? "", /^\d{4}-\d\d-\d\d$/)
          assert.deepStrictEqual(yield* usage.booked(workspaceId), {
            tokens: 38,
            costNanos: 170,
            unknownCalls: 0
          })
          yield* folded
        }
      })
    )

    it.effect("counts a step that is written again once, and none of an execution that was lost", () =>
      Effect.gen(function* () {
        const { folded, journal, runs, started, total, worker } = yield* subject
        const lost = yield* started()
        assert.isTrue(yield* journal.record(lost, 0, first()))
        assert.isTrue(yield* journal.record(lost, 0, first()))
        yield* runs.renew(worker, [lost], 0)
        const other = yield* newId<string>("run")
        const [taken] = (yield* runs.takeOver({
          worker: other,
          limit: 1000,
          leaseMillis: minute,
          maxCrashes: 100
        })).filter(({ id }) => id === lost.id)
        const latest = executionOf(other, taken ?? assert.fail("not taken over"))
        assert.isFalse(yield* journal.record(lost, 1, tool))
        assert.isFalse(yield* journal.record(latest, 0, first()), "it was written by another")
        assert.isTrue(yield* journal.record(latest, 1, tool))
        yield* folded
        assert.isTrue(yield* journal.record(latest, 1, tool))
        assert.isTrue(yield* journal.record(latest, 2, second))
        const sum = yield* total
        assert.deepStrictEqual(
          [sum.runs, sum.modelCalls, sum.toolCalls, sum.inputTokens, sum.costNanos],
          [1, 2, 1, 30, 170]
        )
      })
    )

    it.effect("is exact while many write at once and others fold", () =>
      Effect.gen(function* () {
        const { journal, started, total, usage, workspaceId } = yield* subject
        const executions = yield* Effect.forEach(Array.from({ length: 40 }), () => started())
        const writing = Effect.forEach(
          executions,
          (execution) =>
            Effect.gen(function* () {
              yield* journal.record(execution, 0, first())
              yield* Effect.all([journal.record(execution, 1, tool), journal.record(execution, 2, tool)], {
                concurrency: 2
              })
              yield* journal.record(execution, 3, second)
              // No moment shows anything twice, or not any more.
              const booked = yield* usage.booked(workspaceId)
              assert.isAtMost(booked.tokens, 40 * 38)
              assert.isAtLeast(booked.tokens, 38)
            }),
          { concurrency: "unbounded" }
        )
        const folding = Effect.forever(Effect.andThen(usage.fold, Effect.yieldNow))
        yield* Effect.raceFirst(writing, folding)
        const expected = [40, 80, 80, 40 * 30, 40 * 8, 40 * 170]
        for (const _ of [1, 2, 3]) {
          const sum = yield* total
          assert.deepStrictEqual(
            [sum.runs, sum.modelCalls, sum.toolCalls, sum.inputTokens, sum.outputTokens, sum.costNanos],
            expected
          )
          yield* usage.fold
        }
      })
    )

    it.effect("counts nothing of what is undone", () =>
      Effect.gen(function* () {
        const { folded, journal, started, total } = yield* subject
        const { atomically } = yield* Transaction
        const execution = yield* started()
        const undone = Effect.andThen(journal.record(execution, 0, first()), Effect.fail("no"))
        yield* Effect.flip(atomically(undone))
        yield* folded
        assert.deepStrictEqual(yield* total, { key: null, ...nothing })
        yield* atomically(journal.record(execution, 0, first()))
        assert.strictEqual((yield* total).inputTokens, 10)
      })
    )

    it.effect("tells what costs nothing from what is not known", () =>
      Effect.gen(function* () {
        const { folded, journal, started, total, usage, workspaceId } = yield* subject
        const execution = yield* started()
        yield* journal.record(execution, 0, first(0))
        assert.deepStrictEqual((yield* total).unknownCalls, 0)
        yield* journal.record(execution, 1, first(null))
        const { costNanos: _, ...before } = second as Extract<JournalStep, { type: "model" }>
        yield* journal.record(execution, 2, before)
        yield* folded
        yield* journal.record(execution, 3, second)
        const sum = yield* total
        assert.deepStrictEqual([sum.costNanos, sum.unknownCalls], [100, 2])
        const booked = yield* usage.booked(workspaceId)
        assert.deepStrictEqual([booked.costNanos, booked.unknownCalls], [100, 2])
      })
    )

    it.effect("sums up by agent, cron job, model and kind, of one workspace alone", () =>
      Effect.gen(function* () {
        const { folded, journal, started, sums, usage, workspaceId } = yield* subject
        const other = yield* makeWorkspace
        const agent = yield* makeAgent(workspaceId)
        yield* journal.record(yield* started({}, other), 0, first())
        const of = yield* started({ agentId: agent.id })
        yield* journal.record(of, 0, first())
        yield* folded
        const without = yield* started()
        for (const index of [0, 1, 2]) yield* journal.record(without, index, index === 0 ? first() : second)
        const { execution } = yield* makeTurn(workspaceId, { worker: "turns", leaseMillis: minute })
        const by = { provider: "anthropic", model: "a", providerKeyId: null }
        yield* journal.record(execution, 0, model({ inputTokens: 1, outputTokens: 1 }, 1, { answeredBy: by }))
        yield* sweep("turn")
        const keys = (group: UsageGroup) =>
          Effect.map(sums(group), (found) =>
            found.map(({ inputTokens, key, runs, turns }) => [key, runs, turns, inputTokens])
          )
        for (const _ of [1, 2]) {
          assert.deepStrictEqual(yield* keys("agent"), [
            [null, 1, 1, 51],
            [agent.id, 1, 0, 10]
          ])
          assert.deepStrictEqual(yield* keys("cronJob"), [[null, 2, 1, 61]])
          assert.deepStrictEqual(yield* keys("kind"), [
            ["task", 2, 0, 60],
            ["turn", 0, 1, 1]
          ])
          assert.deepStrictEqual(yield* keys("model"), [
            ["openai/m", 2, 0, 60],
            ["anthropic/a", 0, 1, 1]
          ])
          yield* folded
        }
        assert.deepStrictEqual(
          yield* usage.sums({
            from: "2001-01-01",
            to: "2002-01-01",
            workspaceId,
            groupBy: "kind",
            most: 10
          }),
          []
        )
      })
    )

    it.effect("puts what has no row of its own together", () =>
      Effect.gen(function* () {
        const { folded, journal, started, sums } = yield* subject
        const execution = yield* started()
        const by = (name: string, inputTokens: number) =>
          model({ inputTokens, outputTokens: 1 }, 1, { answeredBy: { ...answeredBy, model: name } })
        const given = [by("b", 5), by("a", 5), by("c", 9), by("d", 1), by("e", 2)]
        for (const [index, step] of given.entries()) yield* journal.record(execution, index, step)
        yield* folded
        const named = (most: number) =>
          Effect.map(sums("model", most), (found) => found.map(({ inputTokens, key }) => [key, inputTokens]))
        assert.deepStrictEqual(yield* named(3), [
          ["openai/c", 9],
          ["openai/a", 5],
          ["openai/b", 5],
          ["other", 3]
        ])
        assert.strictEqual((yield* named(5)).length, 5)
        assert.strictEqual((yield* named(4)).at(-1)?.[0], "other")
      })
    )

    it.effect("keeps what a run had used when it was over", () =>
      Effect.gen(function* () {
        const { runs, started, usage } = yield* subject
        const spent: Spent = {
          modelCalls: 2,
          toolCalls: 3,
          inputTokens: completed.usage.inputTokens,
          cachedInputTokens: 1,
          outputTokens: completed.usage.outputTokens,
          costNanos: 9_000_000_000_000
        }
        const execution = yield* started()
        assert.isTrue(Option.isNone(yield* usage.ofRun(execution.id)))
        assert.isTrue(yield* runs.finish(execution, { ...completed, spent }, times))
        assert.deepStrictEqual(Option.getOrThrow(yield* usage.ofRun(execution.id)), spent)
        const uncounted = yield* started()
        assert.isTrue(yield* runs.finish(uncounted, completed, times))
        assert.isTrue(Option.isNone(yield* usage.ofRun(uncounted.id)))
        const unknown = yield* started()
        yield* runs.finish(
          unknown,
          {
            ...completed,
            usage: { inputTokens: 0, outputTokens: 0 },
            spent: { ...nothingSpent, costNanos: null }
          },
          times
        )
        assert.deepStrictEqual(Option.getOrThrow(yield* usage.ofRun(unknown.id)).costNanos, null)
        assert.isTrue(Option.isNone(yield* usage.ofRun(yield* newId<RunId>("run"))))
      })
    )
  })
