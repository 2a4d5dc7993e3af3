import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { StoredRun } from "../../../src/Schemas/Run.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { ProviderKeyRepo } from "../../../src/Services/ProviderKeyRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { makeCronJob } from "../../contract/CronJobRepo.ts"
import { completed, minute, times } from "../../contract/RunSubject.ts"
import type { Backend } from "../../support/Backends.ts"
import { makeAgent, makeProviderKey, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

/** What a run names, and how that is removed. */
interface Referred {
  readonly names: Partial<Pick<StoredRun, "agentId" | "cronJobId" | "providerKeyId">>
  readonly remove: Effect.Effect<boolean, Unavailable, Backend>
}

const agent = (workspaceId: WorkspaceId) =>
  Effect.map(
    makeAgent(workspaceId),
    ({ id }): Referred => ({
      names: { agentId: id },
      remove: Effect.flatMap(AgentRepo, (repo) => repo.remove(id))
    })
  )

const cronJob = (workspaceId: WorkspaceId) =>
  Effect.map(
    makeCronJob(workspaceId),
    ({ id }): Referred => ({
      names: { cronJobId: id },
      remove: Effect.flatMap(CronJobRepo, (repo) => repo.remove(id))
    })
  )

const providerKey = (workspaceId: WorkspaceId) =>
  Effect.map(
    makeProviderKey(workspaceId),
    ({ id }): Referred => ({
      names: { providerKeyId: id },
      remove: Effect.flatMap(ProviderKeyRepo, (repo) => repo.remove(id))
    })
  )

/** A deadlock is Unavailable to its victim: it fails these tests as an error. */
const suite = () => {
  it.live.each<[string, (workspaceId: WorkspaceId) => Effect.Effect<Referred, Unavailable, Backend>]>([
    ["an agent", agent],
    ["a cron job", cronJob],
    ["a provider key", providerKey]
  ])("%s is removed while a run of it ends and another one is to begin at once", ([, make]) =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(3)
      const workspaceId = yield* on(0, makeWorkspace)
      const { names, remove } = yield* on(0, make(workspaceId))
      const start = { worker: "w", leaseMillis: minute, perWorkspace: 9 }
      const runs = yield* on(0, RunRepo)
      const run = { ...newRun(workspaceId), ...names }
      yield* runs.insert(run, start)
      const ending = Effect.gen(function* () {
        const sql = yield* PgClient
        // An end has its run first, and then the counts of the workspace.
        yield* sql`select from runs where id = ${run.id} for update`
        const removing = yield* Effect.forkDetach(on(1, remove))
        yield* on(1, Postgres.untilWaiting(1))
        const starting = yield* Effect.forkDetach(
          on(
            2,
            Effect.flatMap(RunRepo, (repo) => repo.insert({ ...newRun(workspaceId), ...names }, start))
          )
        )
        yield* on(1, Postgres.untilWaiting(2))
        assert.isTrue(yield* runs.finish({ id: run.id, worker: "w", epoch: 1 }, completed, times))
        return { removing, starting }
      })
      const { removing, starting } = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(ending))
      )
      assert.isTrue(yield* Fiber.join(removing))
      // What is gone takes no runs: that is a defect of who inserts them.
      const exit = yield* Fiber.await(starting)
      assert.isTrue(Exit.isFailure(exit) && exit.cause.reasons.every(({ _tag }) => _tag === "Die"))
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of what runs name", suite)
else describe.skip(Postgres.skipped("Locks of what runs name"), suite)
