import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import {
  type Budget,
  type CallBound,
  noBudget,
  nothingSpent,
  type Permission,
  type Spending
} from "../../src/Schemas/Budget.ts"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { BudgetRepo } from "../../src/Services/BudgetRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { type Execution, RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { below, pick } from "../support/Chance.ts"
import { makeRun, makeWorkspace, newRun } from "../support/Fixtures.ts"
import { failed, minute, subject as ofRuns, times } from "./RunSubject.ts"

const usd = 1_000_000_000
/** A call that may cost ten cents and a hundred tokens at most. */
const bound: CallBound = { tokens: 100, costNanos: usd / 10 }

const answer = (tokens: number, costNanos: number | null): JournalStep => ({
  type: "model",
  text: "A",
  toolCalls: [],
  usage: { inputTokens: tokens - 1, outputTokens: 1 },
  costNanos
})

const subject = Effect.gen(function* () {
  const repo = yield* BudgetRepo
  const runs = yield* RunRepo
  const journal = yield* RunJournal
  const { a, b } = yield* ofRuns
  const workspaceId = yield* makeWorkspace
  const begin = Effect.fnUntraced(function* (worker: string, leaseMillis = minute) {
    const run = yield* newRun(workspaceId, { createdAt: new Date() })
    assert.isTrue(yield* runs.insert(run, { worker, leaseMillis, perWorkspace: 1_000 }))
    return { id: run.id, worker, epoch: 1 } satisfies Execution
  })
  const reserve = (
    execution: Execution,
    given: { readonly bound?: CallBound; readonly run?: Spending } = {}
  ) => repo.reserve({ execution, workspaceId, bound, run: nothingSpent, ...given })
  const put = (budget: Partial<Budget>) => repo.put(workspaceId, { ...noBudget, ...budget })
  const standing = Effect.map(repo.standing(workspaceId), (found) => found.standing)
  const book = (execution: Execution, index: number, tokens: number, costNanos: number | null) =>
    journal.record(execution, index, answer(tokens, costNanos))
  return { a, b, begin, book, put, repo, reserve, runs, standing, workspaceId }
})

const reserved: Permission = { type: "reserved" }
const waits: Permission = { type: "waits" }
const refused = (
  limit: "monthlyUsd" | "monthlyTokens" | "runUsd" | "runTokens",
  value: number
): Permission => ({
  type: "refused",
  reached: { limit, value }
})
const spending = (tokens: number, costNanos: number): Spending => ({ tokens, costNanos })

const ofCalls = (it: It) => {
  it.effect("holds what a call may cost until it is booked, and lets others wait for it", () =>
    Effect.gen(function* () {
      const { a, begin, book, put, reserve, standing } = yield* subject
      const [one, two, three] = [yield* begin(a), yield* begin(a), yield* begin(a)]
      yield* put({ monthlyUsd: 0.15, monthlyTokens: 1_000 })
      assert.deepStrictEqual(yield* reserve(one), reserved)
      assert.deepStrictEqual(yield* reserve(two), reserved)
      assert.deepStrictEqual(yield* reserve(three), waits)
      assert.deepStrictEqual(yield* standing, {
        used: nothingSpent,
        lost: nothingSpent,
        reserved: spending(200, usd / 5)
      })
      assert.isTrue(yield* book(one, 0, 50, usd / 100))
      assert.deepStrictEqual(yield* standing, {
        used: spending(50, usd / 100),
        lost: nothingSpent,
        reserved: spending(100, usd / 10)
      })
      assert.deepStrictEqual(yield* reserve(three), reserved)
      assert.isTrue(yield* book(two, 0, 50, (14 * usd) / 100))
      assert.deepStrictEqual(yield* reserve(one), refused("monthlyUsd", 0.15))
      assert.isTrue(yield* book(three, 0, 50, null))
      yield* put({ monthlyUsd: 0.16, monthlyTokens: 150 })
      assert.deepStrictEqual(yield* reserve(one), refused("monthlyTokens", 150))
      yield* put({ monthlyUsd: 0.16, monthlyTokens: 151 })
      assert.deepStrictEqual(yield* reserve(one), reserved)
    })
  )

  it.effect("holds the limits of a run, and asks no price where no limit is in dollars", () =>
    Effect.gen(function* () {
      const { a, begin, put, reserve, standing } = yield* subject
      const one = yield* begin(a)
      const unknown = { tokens: 100, costNanos: null }
      assert.deepStrictEqual(yield* reserve(one), { type: "none" })
      yield* put({})
      assert.deepStrictEqual(yield* reserve(one), { type: "none" })
      yield* put({ runUsd: 0.5, runTokens: 300 })
      assert.deepStrictEqual(yield* reserve(one, { run: spending(299, usd / 2 - 1) }), reserved)
      assert.deepStrictEqual(yield* reserve(one, { run: spending(299, usd / 2) }), refused("runUsd", 0.5))
      assert.deepStrictEqual(yield* reserve(one, { run: spending(300, 0) }), refused("runTokens", 300))
      assert.deepStrictEqual(yield* reserve(one, { bound: unknown }), { type: "unpriced" })
      yield* put({ monthlyUsd: 3 })
      assert.deepStrictEqual(yield* reserve(one, { bound: unknown }), { type: "unpriced" })
      yield* put({ monthlyTokens: 300 })
      assert.deepStrictEqual(yield* reserve(one, { bound: unknown }), reserved)
      assert.deepStrictEqual((yield* standing).reserved, spending(100, 0))
      yield* put({ monthlyTokens: 0 })
      assert.deepStrictEqual(yield* reserve(one), refused("monthlyTokens", 0))
      assert.deepStrictEqual((yield* standing).reserved, nothingSpent, "what is refused holds nothing")
    })
  )

  it.effect("holds for one call of an execution at a time, and gives back what was never asked", () =>
    Effect.gen(function* () {
      const { a, begin, put, repo, reserve, standing } = yield* subject
      const one = yield* begin(a)
      yield* put({ monthlyUsd: 1 })
      assert.deepStrictEqual(yield* reserve(one), reserved)
      assert.deepStrictEqual(yield* reserve(one), reserved)
      assert.deepStrictEqual((yield* standing).reserved, spending(100, usd / 10))
      yield* repo.settle(one, "released")
      yield* repo.settle(one, "lost")
      assert.deepStrictEqual(yield* standing, {
        used: nothingSpent,
        lost: nothingSpent,
        reserved: nothingSpent
      })
      yield* reserve(one)
      yield* repo.settle(one, "lost")
      yield* repo.settle(one, "lost")
      assert.deepStrictEqual((yield* standing).lost, spending(100, usd / 10))
      yield* put({ monthlyUsd: 0.1 })
      assert.deepStrictEqual(yield* reserve(one), refused("monthlyUsd", 0.1))
    })
  )
}

const ofExecutions = (it: It) => {
  it.effect("counts what an execution held as lost when it can't write any more", () =>
    Effect.gen(function* () {
      const { a, b, begin, book, put, reserve, runs, standing } = yield* subject
      const [ended, cancelled, taken] = [yield* begin(a), yield* begin(a), yield* begin(b, 0)]
      yield* put({ monthlyUsd: 1 })
      for (const execution of [ended, cancelled, taken])
        assert.deepStrictEqual(yield* reserve(execution), reserved)
      // Its lease has just ended: it may be renewed.
      assert.deepStrictEqual((yield* standing).reserved, spending(300, (3 * usd) / 10))
      yield* runs.finish(ended, failed, times)
      yield* runs.cancel(cancelled.id, new Date())
      const [run] = yield* runs.takeOver({ worker: b, limit: 100, leaseMillis: minute, maxCrashes: 9 })
      const next = { id: taken.id, worker: b, epoch: run?.epoch ?? 0 }
      assert.isAbove(next.epoch, taken.epoch)
      assert.deepStrictEqual(yield* standing, {
        used: nothingSpent,
        lost: spending(300, (3 * usd) / 10),
        reserved: nothingSpent
      })
      assert.deepStrictEqual(yield* reserve(taken), { type: "lost" })
      assert.deepStrictEqual(yield* reserve({ ...next, worker: a }), { type: "lost" })
      assert.isFalse(yield* book(taken, 0, 10, 10))
      assert.deepStrictEqual(yield* reserve(next), reserved)
      assert.isTrue(yield* book(next, 0, 10, 10))
      assert.deepStrictEqual(yield* standing, {
        used: spending(10, 10),
        lost: spending(300, (3 * usd) / 10),
        reserved: nothingSpent
      })
    })
  )

  it.effect("counts what was lost of a run to the limits of the run while it goes on", () =>
    Effect.gen(function* () {
      const { b, begin, put, repo, reserve, runs, standing } = yield* subject
      const taken = yield* begin(b, 0)
      yield* put({ runUsd: 0.1 })
      assert.deepStrictEqual(yield* reserve(taken), reserved)
      const [run] = yield* runs.takeOver({ worker: b, limit: 100, leaseMillis: minute, maxCrashes: 9 })
      const next = { id: taken.id, worker: b, epoch: run?.epoch ?? 0 }
      assert.deepStrictEqual(yield* reserve(next), refused("runUsd", 0.1))
      // It is no matter of others.
      assert.deepStrictEqual(yield* reserve(yield* begin(b)), reserved)
      yield* repo.bury(100)
      assert.deepStrictEqual(yield* reserve(next), refused("runUsd", 0.1))
      assert.deepStrictEqual((yield* standing).lost, spending(100, usd / 10))
    })
  )

  it.effect("refuses new work once a limit of the month is reached", () =>
    Effect.gen(function* () {
      const { a, begin, book, put, repo, reserve, runs, workspaceId } = yield* subject
      const one = yield* begin(a)
      yield* put({ monthlyUsd: 0.25, runUsd: 0 })
      assert.deepStrictEqual(yield* repo.reached(workspaceId), Option.none())
      yield* put({ monthlyUsd: 0.25 })
      yield* reserve(one)
      yield* makeRun(workspaceId)
      yield* book(one, 0, 10, usd / 4)
      assert.deepStrictEqual(
        yield* repo.reached(workspaceId),
        Option.some({ limit: "monthlyUsd" as const, value: 0.25 })
      )
      const run = yield* newRun(workspaceId, { createdAt: new Date() })
      const error = yield* Effect.flip(runs.insert(run))
      assert.deepInclude(error, {
        _tag: "BudgetExceeded",
        error: "monthlyUsd: the workspace has used up its budget of 0.25 US dollars for this month (UTC)"
      })
      assert.deepStrictEqual(yield* runs.find(run.id), Option.none())
      yield* put({ monthlyUsd: 0.26 })
      yield* runs.insert(run)
    })
  )

  it.effect("knows of no workspace that is not there", () =>
    Effect.gen(function* () {
      const repo = yield* BudgetRepo
      const absent = "ws_absent" as WorkspaceId
      assert.deepStrictEqual(yield* repo.find(absent), Option.none())
      assert.isFalse(yield* repo.put(absent, noBudget))
      assert.deepStrictEqual(yield* repo.find(yield* makeWorkspace), Option.some(noBudget))
      const { put, workspaceId } = yield* subject
      const budget = { monthlyUsd: 0.123456789, monthlyTokens: 1e12, runUsd: null, runTokens: 0 }
      yield* put(budget)
      assert.deepStrictEqual(yield* repo.find(workspaceId), Option.some(budget))
      yield* put({ runUsd: 1 })
      assert.deepStrictEqual(yield* repo.find(workspaceId), Option.some({ ...noBudget, runUsd: 1 }))
    })
  )
}

const ofMany = (it: It) => {
  it.effect("of many that ask at the same time no more than one goes over the limit", () =>
    Effect.gen(function* () {
      const { a, begin, book, put, reserve, standing } = yield* subject
      yield* put({ monthlyUsd: 1.05 })
      const all = yield* Effect.replicateEffect(begin(a), 50)
      const ask = (execution: Execution) =>
        Effect.map(reserve(execution), (permission) => ({ execution, permission }))
      const answers = yield* Effect.forEach(all, ask, { concurrency: "unbounded" })
      const begun = answers.filter(({ permission }) => permission.type === "reserved")
      assert.lengthOf(begun, 11)
      assert.strictEqual((yield* standing).reserved.costNanos, (11 * usd) / 10)
      yield* Effect.forEach(begun, ({ execution }) => book(execution, 0, 10, usd / 20), {
        concurrency: "unbounded"
      })
      assert.strictEqual((yield* standing).used.costNanos, (11 * usd) / 20)
      const again = yield* Effect.forEach(all, ask, { concurrency: "unbounded" })
      assert.lengthOf(
        again.filter(({ permission }) => permission.type === "reserved"),
        5
      )
    })
  )

  it.effect(
    "what is held is what calls that are under way may cost, whatever happens to their executions",
    () =>
      Effect.gen(function* () {
        const { a, b, begin, book, put, repo, reserve, runs, standing } = yield* subject
        yield* put({ monthlyUsd: 1_000 })
        let used = 0
        let lost = 0
        const idle: Array<{ execution: Execution; index: number }> = []
        const open: Array<{ execution: Execution; index: number }> = []
        const take = function* (from: typeof idle) {
          const one = yield* pick(from)
          from.splice(from.indexOf(one), 1)
          return one
        }
        for (let step = 0; step < 150; step++) {
          const chance = yield* below(8)
          if (idle.length === 0 || chance === 0) idle.push({ execution: yield* begin(a), index: 0 })
          else if (chance < 4) {
            const one = yield* take(idle)
            assert.deepStrictEqual(yield* reserve(one.execution), reserved)
            open.push(one)
          } else if (open.length > 0) {
            const { execution, index } = yield* take(open)
            if (chance < 6) {
              assert.isTrue(yield* book(execution, index, 10, 7))
              used += 7
              idle.push({ execution, index: index + 1 })
            } else if (chance === 6) {
              // It was killed: another takes it over.
              yield* runs.release(execution.worker, {
                crashed: false,
                maxCrashes: 99,
                executions: [execution]
              })
              lost += usd / 10
              const claimant = { worker: b, leaseMillis: minute, limit: 100, perWorkspace: 1_000 }
              for (const run of yield* runs.claim(claimant)) {
                if (run.id === execution.id)
                  idle.push({ execution: { id: run.id, worker: b, epoch: run.epoch }, index })
              }
            } else {
              const how = (yield* below(2)) === 0 ? "lost" : "released"
              yield* repo.settle(execution, how)
              if (how === "lost") lost += usd / 10
              idle.push({ execution, index })
            }
          }
          const { lost: losses, reserved: held, used: booked } = yield* standing
          assert.strictEqual(held.costNanos, (open.length * usd) / 10)
          assert.strictEqual(losses.costNanos, lost)
          assert.strictEqual(booked.costNanos, used)
        }
        assert.isAbove(lost, 0)
        assert.isAbove(used, 0)
      }).pipe(Random.withSeed("budgets"))
  )
}

export const suite = (it: It) =>
  describe("BudgetRepo", { concurrent: false }, () => {
    ofCalls(it)
    ofExecutions(it)
    ofMany(it)
  })
