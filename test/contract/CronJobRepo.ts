import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type StoredCronJob, toCronJob } from "../../src/Schemas/CronJob.ts"
import type { CronJobId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeProject, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"
import { readsWhileLocked } from "./Locking.ts"

type Patch = Parameters<CronJobRepo["Service"]["update"]>[1]

export const makeCronJob = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<Omit<StoredCronJob, "agent">> = {}
) {
  const id = yield* newId<CronJobId>("cronJob")
  return yield* (yield* CronJobRepo).insert({
    id,
    workspaceId,
    projectId: null,
    name: "Job",
    description: null,
    schedule: "0 9 * * *",
    prompt: "Do it",
    timezone: "UTC",
    isActive: true,
    agentId: null,
    createdBy: null,
    stoppedAt: null,
    stopReason: null,
    nextFireAt: null,
    policy: null,
    createdAt: at(),
    updatedAt: at(),
    ...given
  })
})

const makeFullJob = Effect.gen(function* () {
  const workspaceId = yield* makeWorkspace
  const agent = yield* makeAgent(workspaceId, { name: unicode })
  const job = yield* makeCronJob(workspaceId, {
    projectId: (yield* makeProject(workspaceId)).id,
    name: unicode,
    description: unicode,
    prompt: unicode,
    timezone: "Europe/Berlin",
    agentId: agent.id,
    nextFireAt: at(60_000),
    updatedAt: at(1)
  })
  return { agent, job, workspaceId }
})

export const suite = (it: It) =>
  describe("CronJobRepo", () => {
    it.effect("returns on insert what it finds later, with the name of the agent", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { agent, job } = yield* makeFullJob
        assert.deepStrictEqual(job.agent, { id: agent.id, name: unicode })
        assert.deepStrictEqual([job.name, job.description, job.prompt], [unicode, unicode, unicode])
        assert.deepStrictEqual(
          [job.createdAt, job.updatedAt, job.nextFireAt],
          [at(), at(1), at(60_000)],
          "a time stamp lost something"
        )
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.some(job))
      })
    )

    it.effect("keeps nulls and the last instant there is, and finds none where there is none", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const workspaceId = yield* makeWorkspace
        const bare = yield* makeCronJob(workspaceId, { isActive: false })
        assert.deepStrictEqual(
          [bare.projectId, bare.description, bare.agentId, bare.agent, bare.nextFireAt, bare.isActive],
          [null, null, null, null, null, false]
        )
        assert.deepStrictEqual(yield* jobs.find(bare.id), Option.some(bare))
        const last = yield* makeCronJob(workspaceId, { nextFireAt: new Date("9999-12-31T23:59:59.000Z") })
        assert.deepStrictEqual(yield* jobs.find(last.id), Option.some(last))
        assert.deepStrictEqual(yield* jobs.find(yield* newId<CronJobId>("cronJob")), Option.none())
      })
    )

    it.effect("shows the name that the agent has now", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { agent, job, workspaceId } = yield* makeFullJob
        yield* (yield* AgentRepo).update(agent.id, { name: "Renamed" }, at(2))
        const renamed = { ...job, agent: { id: agent.id, name: "Renamed" } }
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.some(renamed))
        assert.deepStrictEqual(yield* jobs.lock(job.id), Option.some(renamed))
        assert.deepStrictEqual(yield* listed(jobs, { workspaceId }), [toCronJob(renamed)])
      })
    )

    it.effect("lists oldest first, those of one moment by id, and no other workspace", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const workspaceId = yield* makeWorkspace
        const ids = yield* Effect.replicateEffect(newId<CronJobId>("cronJob"), 5)
        const [a, b, c, d, e] = ids as [CronJobId, CronJobId, CronJobId, CronJobId, CronJobId]
        yield* makeCronJob(workspaceId, { id: c, createdAt: at(2) })
        yield* makeCronJob(workspaceId, { id: e, createdAt: at(1) })
        yield* makeCronJob(workspaceId, { id: a, createdAt: at(3) })
        yield* makeCronJob(workspaceId, { id: b, createdAt: at(2) })
        yield* makeCronJob(yield* makeWorkspace, { id: d, createdAt: at(2) })
        const found = yield* listed(jobs, { workspaceId })
        assert.deepStrictEqual(
          found.map(({ id }) => id),
          [e, b, c, a]
        )
      })
    )

    it.effect("lists one project alone", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
        const mine = yield* makeCronJob(workspaceId, { projectId: one.id })
        const other = yield* makeCronJob(workspaceId, { projectId: two.id })
        const none = yield* makeCronJob(workspaceId)
        assert.deepStrictEqual(yield* listed(jobs, { workspaceId, projectId: one.id }), [toCronJob(mine)])
        assert.deepStrictEqual(
          yield* listed(jobs, { workspaceId, projectId: undefined }),
          [mine, other, none].map(toCronJob)
        )
        const elsewhere = yield* makeWorkspace
        assert.deepStrictEqual(yield* listed(jobs, { workspaceId: elsewhere, projectId: one.id }), [])
      })
    )

    it.effect.each<[Patch, Partial<StoredCronJob>]>([
      [{}, {}],
      [{ name: "New" }, { name: "New" }],
      [{ description: "New" }, { description: "New" }],
      [{ description: null }, { description: null }],
      [{ agentId: null }, { agentId: null, agent: null }],
      [{ schedule: "@daily" }, { schedule: "@daily" }],
      [{ prompt: "New" }, { prompt: "New" }],
      [{ timezone: "UTC" }, { timezone: "UTC" }],
      [{ isActive: false }, { isActive: false }],
      [{ nextFireAt: at(5) }, { nextFireAt: at(5) }],
      [{ nextFireAt: null }, { nextFireAt: null }]
    ])("patches what is named, and nothing else: %j", ([patch, expected]) =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { job } = yield* makeFullJob
        const updated = { ...job, ...expected, updatedAt: at(9) }
        assert.deepStrictEqual(yield* jobs.update(job.id, patch, at(9)), Option.some(updated))
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.some(updated))
      })
    )

    it.effect("shows the new agent when a patch names one", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { job, workspaceId } = yield* makeFullJob
        const { id, name } = yield* makeAgent(workspaceId, { name: "Other" })
        const updated = yield* jobs.update(job.id, { agentId: id }, at(9))
        assert.deepStrictEqual(Option.getOrThrow(updated).agent, { id, name })
      })
    )

    it.effect("loses none of several patches at the same time", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { job } = yield* makeFullJob
        const patches: ReadonlyArray<Patch> = [
          { name: "New" },
          { description: null },
          { prompt: "New" },
          { schedule: "@hourly" },
          { isActive: false },
          { nextFireAt: null }
        ]
        yield* Effect.forEach(patches, (patch) => jobs.update(job.id, patch, at(9)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          yield* jobs.find(job.id),
          Option.some({ ...job, ...Object.assign({}, ...patches), updatedAt: at(9) })
        )
      })
    )

    it.effect("updates and locks none where there is none", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const id = yield* newId<CronJobId>("cronJob")
        assert.deepStrictEqual(yield* jobs.update(id, { name: "New" }, at()), Option.none())
        assert.deepStrictEqual(yield* jobs.find(id), Option.none())
        assert.deepStrictEqual(yield* jobs.lock(id), Option.none())
      })
    )

    it.effect("lets nobody else change a job that a transaction has locked", () =>
      Effect.gen(function* () {
        const jobs = yield* CronJobRepo
        const { job } = yield* makeFullJob
        const seen = yield* readsWhileLocked(
          jobs.lock(job.id),
          jobs.update(job.id, { name: "Changed" }, at(9))
        )
        assert.deepStrictEqual(
          seen,
          seen.map(() => Option.some(job))
        )
        const changed = { ...job, name: "Changed", updatedAt: at(9) }
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.some(changed))
      })
    )
  })
