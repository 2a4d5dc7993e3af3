import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { statements } from "../../../src/Layers/Repo/Postgres/migrations/0024_run_lists.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { NewRun, RunStatus } from "../../../src/Schemas/Run.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { makeCronJob } from "../../contract/CronJobRepo.ts"
import { completed, executionOf, failed, minute, times } from "../../contract/RunSubject.ts"
import { below, isLucky, pick } from "../../support/Chance.ts"
import { at, makeAgent, makeProject, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { wrongTotals } from "../../support/RunTotals.ts"
import { eventually } from "../../support/Until.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

const totalOf = (workspaceId: WorkspaceId, status?: RunStatus) =>
  Effect.map(
    Effect.flatMap(RunRepo, (runs) => runs.list({ workspaceId, status, limit: 1, offset: 0 })),
    ({ total }) => total
  )

const fold = Effect.flatMap(RunRepo, ({ foldTotals }) => foldTotals)
/** Whoever writes in another database of the server may hold it up. */
const foldAll = eventually(
  Effect.andThen(
    fold,
    Effect.flatMap(PgClient, (sql) =>
      Effect.map(
        sql<{ left: number }>`select count(*)::int as left from run_count_changes`,
        ([row]) => row?.left === 0
      )
    )
  ),
  "all is folded"
)
const requireRight = Effect.map(wrongTotals, (wrong) => assert.deepStrictEqual(wrong, []))

const sqlOf = <A, E>(statement: (sql: PgClient) => Effect.Effect<A, E>) => Effect.flatMap(PgClient, statement)

/** Something of what happens to runs, by chance. */
const happen = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  { agents, jobs, projects }: Record<"agents" | "jobs" | "projects", ReadonlyArray<string>>,
  worker: string
) {
  const repo = yield* RunRepo
  const given = {
    ...newRun(workspaceId),
    agentId: (yield* pick(agents)) || null,
    cronJobId: (yield* pick(jobs)) || null,
    projectId: (yield* pick(projects)) || null
  } as NewRun
  switch (yield* below(9)) {
    case 0:
      return yield* Effect.ignore(repo.insert(given, { worker, leaseMillis: minute, perWorkspace: 1_000 }))
    case 1:
      return yield* Effect.ignore(
        repo.insert({ ...given, status: yield* pick(["COMPLETED", "FAILED", "WAITING_APPROVAL"] as const) })
      )
    case 2:
      // Undone.
      return yield* Effect.ignore(
        Effect.flatMap(Transaction, ({ atomically }) =>
          atomically(Effect.andThen(repo.insert(given), Effect.fail("no")))
        )
      )
    case 3:
    case 4: {
      const [run] = yield* repo.claim({ worker, limit: 1, leaseMillis: minute, perWorkspace: 1_000 })
      if (run === undefined) return yield* Effect.ignore(repo.insert(given))
      return yield* repo.finish(executionOf(worker, run), (yield* isLucky(50)) ? completed : failed, times)
    }
    case 5: {
      const { runs } = yield* repo.list({ workspaceId, limit: 20, offset: 0 })
      const run = runs.length === 0 ? given : yield* pick(runs)
      return yield* repo.cancel(run.id, at())
    }
    case 6:
      return yield* sqlOf(
        (sql) => sql`
          delete from runs where id in (
            select id from runs where workspace_id = ${workspaceId} and finished_at is not null limit 3)`
      )
    case 7: {
      const { agentId, id, projectId } = given
      // What it names may just be removed.
      return yield* Effect.ignore(
        sqlOf(
          (sql) => sql`
          update runs set project_id = ${projectId}, agent_id = ${agentId}, status = 'FAILED'
          where id in (select id from runs where workspace_id = ${workspaceId} and id < ${id} order by id desc limit 1)
            and (agent_id is null or ${agentId}::text is not null) and (project_id is null or ${projectId}::text is not null)`
        )
      )
    }
    default:
      return yield* fold
  }
})

const suite = () => {
  it.live("are what a count says, whatever happens at the same time on several nodes", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(4)
      const { names, workspaceId } = yield* on(
        0,
        Effect.gen(function* () {
          const workspaceId = yield* makeWorkspace
          const made = <A extends { readonly id: string }, E, R>(make: Effect.Effect<A, E, R>) =>
            Effect.map(Effect.replicateEffect(make, 3), (all) => ["", ...all.map(({ id }) => id as string)])
          const names = {
            agents: yield* made(makeAgent(workspaceId)),
            jobs: yield* made(makeCronJob(workspaceId)),
            projects: yield* made(makeProject(workspaceId))
          }
          return { workspaceId, names }
        })
      )
      const remove = Effect.gen(function* () {
        const removals = yield* RemovalRepo
        yield* (yield* AgentRepo).remove(names.agents[1] as never)
        yield* (yield* CronJobRepo).remove(names.jobs[1] as never)
        for (const removal of yield* removals.pending(9)) {
          yield* Effect.repeat(removals.advance(removal, 5), { while: (count) => count > 0 })
        }
      })
      const work = together(4, (node) =>
        Effect.repeat(happen(workspaceId, names, `w${node}`), { times: 60 }).pipe(
          Effect.andThen(node === 3 ? remove : Effect.void),
          Effect.andThen(Effect.repeat(happen(workspaceId, names, `w${node}`), { times: 30 })),
          Random.withSeed(`totals ${node}`)
        )
      )
      const fiber = yield* Effect.forkChild(work)
      while (fiber.pollUnsafe() === undefined) yield* on(0, requireRight)
      yield* Fiber.join(fiber)
      yield* on(0, requireRight)
      yield* on(0, foldAll)
      yield* on(0, requireRight)
      const [left] = yield* on(
        0,
        sqlOf((sql) => sql`select count(*)::int from run_count_changes`)
      )
      assert.deepStrictEqual(left, { count: 0 })
      const real = yield* on(
        0,
        sqlOf(
          (sql) =>
            sql<{ status: RunStatus; count: number }>`select status, count(*)::int from runs group by status`
        )
      )
      for (const { count, status } of real)
        assert.strictEqual(yield* on(0, totalOf(workspaceId, status)), count, status)
    })
  )

  it.live("miss nothing of a transaction that was given its place before others and commits after them", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const insert = Effect.flatMap(RunRepo, (runs) => runs.insert(newRun(workspaceId)))
      const [isIn, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const late = yield* Effect.forkChild(
        on(
          1,
          Effect.flatMap(Transaction, ({ atomically }) =>
            atomically(
              insert.pipe(
                Effect.andThen(Deferred.succeed(isIn, undefined)),
                Effect.andThen(Deferred.await(mayEnd))
              )
            )
          )
        )
      )
      yield* Deferred.await(isIn)
      // Of a workspace that the other one has not locked.
      const other = yield* on(0, makeWorkspace)
      yield* on(
        0,
        Effect.flatMap(RunRepo, (runs) => runs.insert(newRun(other)))
      )
      yield* on(0, Effect.repeat(fold, { times: 4 }))
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(late)
      yield* on(0, requireRight)
      assert.strictEqual(yield* on(0, totalOf(workspaceId)), 1)
      yield* on(0, foldAll)
      yield* on(0, requireRight)
      const [left] = yield* on(
        0,
        sqlOf((sql) => sql`select count(*)::int from run_count_changes`)
      )
      assert.deepStrictEqual(left, { count: 0 })
    })
  )

  it.live("miss nothing of a transaction that is the latest of all when what it wrote is looked for", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const [isIn, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const insert = Effect.flatMap(RunRepo, (runs) => runs.insert(newRun(workspaceId)))
      const held = Effect.flatMap(Transaction, ({ atomically }) =>
        atomically(
          Effect.andThen(insert, Deferred.succeed(isIn, undefined)).pipe(
            Effect.andThen(Deferred.await(mayEnd))
          )
        )
      )
      const late = yield* Effect.forkChild(on(1, held))
      yield* Deferred.await(isIn)
      yield* on(0, Effect.repeat(fold, { times: 4 }))
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(late)
      assert.strictEqual(yield* on(0, totalOf(workspaceId)), 1)
      yield* on(0, requireRight)
      yield* on(0, foldAll)
      yield* on(0, requireRight)
    })
  )

  it.live("are put together although an agent is removed meanwhile", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const agentId = (yield* on(0, makeAgent(workspaceId))).id
      yield* on(
        0,
        Effect.flatMap(RunRepo, (runs) => runs.insert({ ...newRun(workspaceId), agentId }))
      )
      yield* on(0, fold)
      const [isIn, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const removal = sqlOf((sql) =>
        sql.withTransaction(
          Effect.andThen(
            sql`delete from agents where id = ${agentId}`,
            Deferred.succeed(isIn, undefined)
          ).pipe(Effect.andThen(Deferred.await(mayEnd)))
        )
      )
      const removing = yield* Effect.forkChild(on(1, removal))
      yield* Deferred.await(isIn)
      const folding = yield* Effect.forkChild(on(0, foldAll))
      const isWaiting = sqlOf(
        (sql) => sql<{ waits: boolean }>`
          select exists (select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%fold_run_counts%') as waits`
      )
      yield* on(
        1,
        eventually(
          Effect.map(isWaiting, ([row]) => row?.waits === true),
          "it waits for the removal"
        )
      )
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(removing)
      yield* Fiber.join(folding)
      yield* on(0, requireRight)
      assert.strictEqual(yield* on(0, totalOf(workspaceId)), 1)
    })
  )

  it.live(
    "go on where all of it was restored into another server, whose transactions have other numbers",
    () =>
      Effect.gen(function* () {
        const { on } = yield* makeNodes(1)
        const work = Effect.gen(function* () {
          const workspaceId = yield* makeWorkspace
          const runs = yield* RunRepo
          yield* runs.insert(newRun(workspaceId))
          yield* fold
          yield* sqlOf((sql) => sql`update run_count_folds set next_before = '9000000000000000000'`)
          yield* runs.insert(newRun(workspaceId))
          yield* foldAll
          yield* requireRight
        })
        yield* on(0, work)
      })
  )

  it.live("are made by the migration, and go with their workspace", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(1)
      const work = Effect.gen(function* () {
        const sql = yield* PgClient
        const workspaceId = yield* makeWorkspace
        const agentId = (yield* makeAgent(workspaceId)).id
        const runs = yield* RunRepo
        for (const status of ["PENDING", "COMPLETED", "FAILED", "CANCELLED", "WAITING_APPROVAL"] as const) {
          yield* runs.insert({ ...newRun(workspaceId), status, agentId })
        }
        yield* foldAll
        // As the version before left the database.
        for (const name of [
          "note_made_run",
          "note_changed_run",
          "note_gone_runs",
          "fold_run_counts",
          "recount_runs"
        ]) {
          yield* sql`drop function ${sql(name)} cascade`
        }
        yield* sql`drop table run_counts, run_count_changes, run_count_folds`
        yield* sql`drop index memory_entries_by_category`
        yield* sql`create index runs_of_agent on runs (agent_id)`
        yield* sql`create index runs_of_cron_job on runs (cron_job_id)`
        yield* sql`create index runs_active_of_cron_job on runs (cron_job_id)`
        for (const statement of statements) yield* sql.unsafe(statement)
        yield* requireRight
        assert.strictEqual(yield* totalOf(workspaceId), 5)
        assert.strictEqual(yield* totalOf(workspaceId, "PENDING"), 1)
        yield* sql`delete from workspaces where id = ${workspaceId}`
        yield* foldAll
        const [left] = yield* sql`
          select count(*)::int from run_counts`
        assert.deepStrictEqual(left, { count: 0 })
      })
      yield* on(0, work)
    })
  )
}

if (Postgres.hasPostgres) describe("totals of runs on PostgreSQL", suite)
else describe.skip(Postgres.skipped("totals of runs on PostgreSQL"), suite)
