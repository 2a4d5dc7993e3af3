import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type DueJob, runOfJob } from "../../src/Schemas/CronFire.ts"
import type { StoredCronJob } from "../../src/Schemas/CronJob.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { at, makeWorkspace, newId } from "../support/Fixtures.ts"
import { makeCronJob } from "./CronJobRepo.ts"

export const hour = 3_600_000
export const day = 24 * hour
/** Long past, so that it is due by any clock. */
export const slot = (n = 0) => new Date(Date.UTC(2020, 0, 1, 0, 0, n))
export const never = new Date("2100-01-01T00:00:00.000Z")

/** What an earlier test left due is taken out of the way first: a claim takes jobs of every workspace. */
export const subject = Effect.gen(function* () {
  const fires = yield* CronFireRepo
  const jobs = yield* CronJobRepo
  const { atomically: transact } = yield* Transaction
  const claim = (limit = 100) => transact(fires.claim(limit))
  for (const { id } of (yield* claim(10_000)).jobs) yield* jobs.update(id, { nextFireAt: null }, at())
  const workspaceId = yield* makeWorkspace
  const make = (given: Partial<Omit<StoredCronJob, "agent">> = {}) =>
    makeCronJob(workspaceId, { nextFireAt: slot(), ...given })
  const next = (job: { readonly id: StoredCronJob["id"] }) =>
    Effect.map(jobs.find(job.id), (found) => Option.getOrThrow(found).nextFireAt)
  const ledger = (job: { readonly id: StoredCronJob["id"] }) =>
    fires.list({ cronJobId: job.id, limit: 100, offset: 0 })
  const newRunOf = (job: Pick<DueJob, "id" | "workspaceId" | "projectId" | "agentId" | "prompt">) =>
    Effect.map(newId<RunId>("run"), (id) => runOfJob({ policy: null, agentPolicy: null, ...job }, id, at(7)))
  return { claim, fires, jobs, ledger, make, newRunOf, next, transact, workspaceId }
})

export const idsOf = (claimed: { readonly jobs: ReadonlyArray<DueJob> }) => claimed.jobs.map(({ id }) => id)
