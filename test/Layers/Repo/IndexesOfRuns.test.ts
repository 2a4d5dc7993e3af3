import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { RunCounts } from "../../../src/Services/RunCounts.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import * as Postgres from "../../support/Postgres.ts"
import { type IndexUse, indexUse, seeded } from "./IndexUse.ts"
import { newRun } from "./RunNodes.ts"

const workspaceId = "ws_7" as WorkspaceId
const claimant = { worker: "w", leaseMillis: 60_000 }
const execution = { id: "run_direct" as RunId, worker: "w", epoch: 1 }
const old = { eventsBefore: new Date(0), journalsBefore: new Date(0) }
const step: JournalStep = { type: "model", text: "", toolCalls: [], usage: noUsage }

/** A run that was started as it was inserted. */
const started = Effect.gen(function* () {
  const run = newRun(workspaceId)
  assert.isTrue(yield* (yield* RunRepo).insert(run, { ...claimant, perWorkspace: 1_000 }))
  return run
})

const suite = () =>
  layer(seeded, { excludeTestServices: true })((it) => {
    it.effect.each<IndexUse & { readonly what: string }>([
      {
        what: "the claim of runs",
        table: "runs",
        index: "runs_waiting",
        call: Effect.flatMap(RunRepo, (runs) => runs.claim({ ...claimant, limit: 4, perWorkspace: 8 }))
      },
      {
        what: "the takeover of runs",
        table: "runs",
        index: "runs_leased",
        call: Effect.flatMap(RunRepo, (runs) => runs.takeOver({ ...claimant, limit: 4, maxCrashes: 3 }))
      },
      {
        what: "the renewal of leases",
        table: "runs",
        call: Effect.flatMap(RunRepo, (runs) => runs.renew("w", [execution], 60_000))
      },
      {
        what: "the release of runs",
        table: "runs",
        index: "runs_of_worker",
        call: Effect.flatMap(RunRepo, (runs) => runs.release("w", { crashed: true, maxCrashes: 3 }))
      },
      {
        what: "the start of a run as it is inserted",
        table: "runs",
        call: started
      },
      {
        what: "the record of a step",
        table: "run_steps",
        index: "run_steps_pkey",
        call: Effect.gen(function* () {
          const { id } = yield* started
          return yield* (yield* RunJournal).record({ ...execution, id }, 0, step)
        })
      },
      {
        what: "the proof of a step",
        table: "runs",
        call: Effect.flatMap(RunJournal, (journal) => journal.record(execution, 0, step))
      },
      {
        what: "the steps of a run",
        table: "run_steps",
        index: "run_steps_pkey",
        call: Effect.flatMap(RunJournal, (journal) => journal.steps(execution.id))
      },
      {
        what: "the end of a run",
        table: "runs",
        index: "runs_pkey",
        call: Effect.flatMap(RunRepo, (runs) =>
          runs.finish(
            execution,
            { status: "FAILED", error: "No", code: "no", usage: noUsage },
            { at: new Date(), firstTokenAt: null }
          )
        )
      },
      {
        what: "the cancellation of a run",
        table: "runs",
        index: "runs_pkey",
        call: Effect.flatMap(RunRepo, (runs) => runs.cancel(execution.id, new Date()))
      },
      {
        what: "the retry of a run",
        table: "runs",
        index: "runs_pkey",
        call: Effect.flatMap(RunRepo, (runs) => Effect.exit(runs.retry(execution.id, new Date())))
      },
      {
        what: "the look for when a scheduled run is due",
        table: "runs",
        index: "runs_scheduled",
        call: Effect.flatMap(RunRepo, (runs) => runs.untilDue)
      },
      {
        what: "the look for scheduled runs that are due",
        table: "runs",
        index: "runs_scheduled",
        call: Effect.flatMap(RunRepo, (runs) => runs.makeDue(200))
      },
      {
        what: "the pruning of runs",
        table: "runs",
        index: "runs_over",
        call: Effect.flatMap(RunRepo, (runs) => runs.prune({ ...old, limit: 200 }))
      },
      {
        what: "the removal of runs",
        table: "runs",
        index: "runs_over",
        call: Effect.flatMap(RunRepo, (runs) => runs.prune({ ...old, runsBefore: new Date(0), limit: 200 }))
      },
      ...(
        [
          ["runs", "runs_waiting"],
          // Parked runs, by the approvals that wait: from any other side they are found without it.
          ["runs", "runs_pkey"],
          // What is being executed is in two.
          ["runs", undefined]
        ] as const
      ).map(([table, index]) => ({
        what: `the count of what is not over, of ${index ?? table},`,
        table,
        index,
        call: Effect.flatMap(RunCounts, ({ read }) => read)
      }))
    ])("$what uses an index", indexUse)
  })

if (Postgres.hasPostgres) describe("Indexes of runs on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Indexes of runs on PostgreSQL"), suite)
