import { describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { CronJobId, UserId } from "../../../src/Schemas/Ids.ts"
import { CronBackfillRepo } from "../../../src/Services/CronBackfillRepo.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"
import * as Postgres from "../../support/Postgres.ts"
import { type IndexUse, indexUse, seeded } from "./IndexUse.ts"

const day = 86_400_000

const suite = () =>
  layer(seeded, { excludeTestServices: true })((it) => {
    it.effect.each<IndexUse & { readonly what: string }>([
      {
        what: "the wait for the earliest job",
        table: "cron_jobs",
        index: "cron_jobs_due",
        call: Effect.flatMap(CronFireRepo, (fires) => fires.untilDue)
      },
      {
        what: "the claim of due jobs",
        table: "cron_jobs",
        index: "cron_jobs_due",
        call: Effect.flatMap(CronFireRepo, (fires) => fires.claim(20))
      },
      {
        what: "the look at the agents of due jobs",
        table: "agents",
        index: "agents_pkey",
        call: Effect.flatMap(CronFireRepo, (fires) => fires.claim(20))
      },
      {
        what: "the look for active runs of due jobs",
        table: "runs",
        index: "runs_by_cron_job",
        call: Effect.flatMap(CronFireRepo, (fires) => fires.claim(20))
      },
      {
        what: "the move of a job to its next slot",
        table: "cron_jobs",
        index: "cron_jobs_pkey",
        call: Effect.flatMap(CronFireRepo, (fires) =>
          fires.record({
            firedAt: new Date(),
            slots: [],
            backlogs: [],
            next: [{ cronJobId: "cron_7" as CronJobId, nextFireAt: new Date() }]
          })
        )
      },
      {
        what: "the claim of jobs with slots that are to be made up",
        table: "cron_jobs",
        index: "cron_jobs_backfill",
        call: Effect.flatMap(CronBackfillRepo, (backfills) => backfills.claim(20, { free: 1, pro: 1 }))
      },
      {
        what: "what waits of a job",
        table: "cron_backfills",
        index: "cron_backfills_pkey",
        call: Effect.gen(function* () {
          const backfills = yield* CronBackfillRepo
          yield* backfills.queue("cron_7" as CronJobId, [new Date()], day)
          yield* backfills.state("cron_7" as CronJobId)
          yield* backfills.cancel("cron_7" as CronJobId)
        })
      },
      {
        what: "the missed slots of a job",
        table: "cron_fires",
        index: "cron_fires_pkey",
        call: Effect.flatMap(CronBackfillRepo, (backfills) =>
          backfills.missed("cron_7" as CronJobId, { from: new Date(0), to: new Date() }, 20)
        )
      },
      {
        what: "the ledger of a job",
        table: "cron_fires",
        index: "cron_fires_pkey",
        call: Effect.flatMap(CronFireRepo, (fires) =>
          fires.list({ cronJobId: "cron_7" as CronJobId, limit: 20, offset: 0 })
        )
      },
      {
        what: "the search for old slots",
        table: "cron_fires",
        index: "cron_fires_by_age",
        call: Effect.flatMap(CronFireRepo, (fires) => fires.forget(day, 50))
      },
      {
        what: "the stop of the jobs of a user",
        table: "cron_jobs",
        index: "cron_jobs_of_maker",
        call: Effect.flatMap(CronJobRepo, (jobs) =>
          jobs.stopOf({ userId: "user_9" as UserId, workspaceId: null }, "maker_left", new Date())
        )
      },
      ...(
        [
          ["cron_fires", "cron_fires_pkey"],
          ["runs", "runs_by_cron_job"]
        ] as const
      ).map(([table, index]) => ({
        what: `the removal of a job from ${table}`,
        table,
        index,
        call: Effect.gen(function* () {
          const id = `cron_1${table.length}` as CronJobId
          yield* (yield* CronJobRepo).remove(id)
          const removals = yield* RemovalRepo
          const advance = removals.advance({ kind: "cronJob", id }, 9)
          yield* Effect.repeat(advance, { while: (count) => count > 0 })
        })
      }))
    ])("$what uses an index", indexUse)
  })

if (Postgres.hasPostgres) describe("Indexes of cron jobs on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Indexes of cron jobs on PostgreSQL"), suite)
