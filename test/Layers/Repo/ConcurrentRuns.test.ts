import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import type { StoredRun } from "../../../src/Schemas/Run.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { completed, executionOf, idsOf, minute, times } from "../../contract/RunSubject.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { counts, makeNodes, newRun, watched } from "./RunNodes.ts"

const perWorkspace = 8
const makeWorkspaces = (count: number) => Effect.replicateEffect(makeWorkspace, count)
const insertAll = Effect.fnUntraced(function* (workspaces: ReadonlyArray<WorkspaceId>, each: number) {
  const repo = yield* RunRepo
  const runs = Array.from({ length: each }, () => workspaces.map(newRun)).flat()
  yield* Effect.forEach(runs, (run) => repo.insert(run), { concurrency: 10, discard: true })
  return runs
})

const step: JournalStep = {
  type: "tool",
  result: { id: "1", name: "read", result: 1, isError: false, durationMs: 1 }
}

/** One step and the end, as an executor writes them. */
const execute = Effect.fnUntraced(function* (worker: string, run: StoredRun) {
  const execution = executionOf(worker, run)
  assert.isTrue(yield* (yield* RunJournal).record(execution, 0, step), "the step was refused")
  assert.isTrue(yield* (yield* RunRepo).finish(execution, completed, times), "the end was refused")
  return run.id
})

/** Claims and executes until no run is open; answers what it executed. */
const work = Effect.fnUntraced(function* (worker: string, limit: number, done: () => boolean) {
  const repo = yield* RunRepo
  const executed: Array<RunId> = []
  while (true) {
    const claimed = yield* repo.claim({ worker, limit, leaseMillis: minute, perWorkspace })
    assert.isAtMost(claimed.length, limit)
    for (const run of claimed) executed.push(yield* execute(worker, run))
    if (claimed.length === 0 && done() && (yield* counts).open === 0) return executed
  }
})

const statuses = Effect.gen(function* () {
  const sql = yield* PgClient
  return yield* sql<{ status: string; attempts: number; count: number }>`
    select status, attempts, count(*)::int as count from runs group by 1, 2 order by 1, 2`
})

const suite = () => {
  it.live(
    "executes 200 runs of 5 workspaces once each with 20 claimers on 4 nodes, never 9 of one at once",
    () =>
      Effect.gen(function* () {
        const { on, together } = yield* makeNodes(4)
        const workspaces = yield* on(0, makeWorkspaces(5))
        const made = yield* on(0, insertAll(workspaces, 40))

        // All claim and none finishes: every workspace fills up to the limit, and not over it.
        const held: Array<readonly [string, StoredRun]> = []
        const fill = together(20, (n) =>
          Effect.gen(function* () {
            const worker = `filler ${n}`
            const options = { worker, limit: 7, leaseMillis: minute, perWorkspace }
            while ((yield* counts).running < workspaces.length * perWorkspace) {
              const claimed = yield* (yield* RunRepo).claim(options)
              held.push(...claimed.map((run) => [worker, run] as const))
            }
          })
        )
        const full = yield* on(0, watched(fill))
        assert.deepStrictEqual([full.most, full.wrong, full.last.running], [8, 0, 40])
        assert.strictEqual(held.length, 40)

        const working = together(20, (n) => work(`worker ${n}`, 3, () => true))
        const finishing = together(held.length, (n) => {
          const [worker, run] = held[n] ?? assert.fail()
          return execute(worker, run)
        })
        const { last, most, result, wrong } = yield* on(
          0,
          watched(Effect.all([working, finishing], { concurrency: "unbounded" }))
        )
        assert.deepStrictEqual([most, wrong], [8, 0])
        assert.deepStrictEqual(result.flat(2).sort(), idsOf(made).sort())
        assert.isAbove(result[0].filter(({ length }) => length > 0).length, 1, "only one worker had any")
        assert.deepStrictEqual(last, { most: 0, mostOfOwner: 0, running: 0, open: 0, wrong: 0 })
        assert.deepStrictEqual(yield* on(1, statuses), [{ status: "COMPLETED", attempts: 1, count: 200 }])
      })
  )

  it.live("executes 200 runs once each that are started as they are inserted, or claimed, on 4 nodes", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(4)
      const workspaces = yield* on(0, makeWorkspaces(5))
      let inserted = 0
      let direct = 0
      const inserting = together(10, (n) =>
        Effect.gen(function* () {
          const worker = `inserter ${n}`
          const executed: Array<RunId> = []
          for (let round = 0; round < 4; round++) {
            for (const workspaceId of workspaces) {
              const run = newRun(workspaceId)
              const start = { worker, leaseMillis: minute, perWorkspace }
              const started = yield* (yield* RunRepo).insert(run, start)
              inserted++
              if (!started) continue
              direct++
              executed.push(yield* execute(worker, { ...run, epoch: 1 }))
            }
          }
          return executed
        })
      )
      const working = together(10, (n) => work(`worker ${n}`, 3, () => inserted === 200))
      const { last, most, result, wrong } = yield* on(
        0,
        watched(Effect.all([inserting, working], { concurrency: "unbounded" }))
      )
      assert.isAtMost(most, perWorkspace)
      assert.strictEqual(wrong, 0)
      assert.isAbove(direct, 0)
      const executed = result.flat(2)
      assert.deepStrictEqual([executed.length, new Set(executed).size], [200, 200])
      assert.deepStrictEqual(last, { most: 0, mostOfOwner: 0, running: 0, open: 0, wrong: 0 })
      assert.deepStrictEqual(yield* on(1, statuses), [{ status: "COMPLETED", attempts: 1, count: 200 }])
    })
  )

  it.live.each([1, 2, 3])("starts exactly the limit of 40 that 4 nodes insert at once (%d)", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(4)
      const workspaceId = yield* on(0, makeWorkspace)
      const start = { worker: "w", leaseMillis: minute, perWorkspace }
      const started = yield* together(40, () =>
        Effect.flatMap(RunRepo, (repo) => repo.insert(newRun(workspaceId), start))
      )
      assert.strictEqual(started.filter((now) => now).length, perWorkspace)
      assert.deepStrictEqual(yield* on(1, counts), {
        most: 8,
        mostOfOwner: 0,
        running: 8,
        open: 40,
        wrong: 0
      })
    })
  )

  it.live("takes each run over once when 8 workers on 4 nodes do it at the same time", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(4)
      const repo = yield* on(0, RunRepo)
      const made = yield* on(
        0,
        Effect.flatMap(makeWorkspaces(5), (given) => insertAll(given, 8))
      )
      yield* repo.claim({ worker: "dead", limit: 100, leaseMillis: 0, perWorkspace })
      const taken = yield* together(8, (n) =>
        Effect.gen(function* () {
          const runs = yield* RunRepo
          const own: Array<StoredRun> = []
          while (own.length < 5) {
            const options = { worker: `heir ${n}`, limit: 5 - own.length, leaseMillis: minute, maxCrashes: 3 }
            own.push(...(yield* runs.takeOver(options)))
          }
          return own
        })
      )
      assert.deepStrictEqual(idsOf(taken.flat()).sort(), idsOf(made).sort())
      assert.deepStrictEqual(yield* on(1, statuses), [{ status: "RUNNING", attempts: 2, count: 40 }])
      assert.strictEqual((yield* on(1, counts)).wrong, 0)
    })
  )

  it.live("writes an end again that another connection is still writing", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const repo = yield* on(0, RunRepo)
      const run = newRun(workspaceId)
      yield* repo.insert(run, { worker: "w", leaseMillis: minute, perWorkspace })
      const execution = executionOf("w", { ...run, epoch: 1 })
      const [written, commit] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const sql = yield* on(0, PgClient)
      // The first write has lost its caller, but not its server.
      const first = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            assert.isTrue(yield* repo.finish(execution, completed, times))
            yield* Deferred.succeed(written, undefined)
            yield* Deferred.await(commit)
          })
        )
      )
      yield* Deferred.await(written)
      const again = yield* Effect.forkChild(
        on(
          1,
          Effect.flatMap(RunRepo, (other) => other.finish(execution, completed, times))
        )
      )
      yield* on(1, Postgres.untilWaiting(1))
      yield* Deferred.succeed(commit, undefined)
      yield* Fiber.join(first)
      assert.isTrue(yield* Fiber.join(again), "the same end was refused")
    })
  )
}

if (Postgres.hasPostgres) describe("Concurrent runs on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Concurrent runs on PostgreSQL"), suite)
