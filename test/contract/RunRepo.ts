import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { NewRun, RunStatus, StoredRun } from "../../src/Schemas/Run.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeProject,
  makeProviderKey,
  makeRun,
  makeWorkspace,
  newId,
  unicode
} from "../support/Fixtures.ts"
import { makeCronJob } from "./CronJobRepo.ts"

type Filter = Omit<Parameters<RunRepo["Service"]["list"]>[0], "workspaceId">

/** A run that is over, so that no test that claims runs takes it. */
const makeOver = (workspaceId: WorkspaceId, given: Partial<NewRun> = {}) =>
  makeRun(workspaceId, { status: "COMPLETED", ...given })

const list = Effect.fnUntraced(function* (workspaceId: WorkspaceId, filter: Partial<Filter> = {}) {
  const { runs, total } = yield* (yield* RunRepo).list({ workspaceId, limit: 100, offset: 0, ...filter })
  return { ids: runs.map(({ id }) => id), total }
})

export const suite = (it: It) =>
  describe("RunRepo", () => {
    it.effect("finds what was inserted, with every field", () =>
      Effect.gen(function* () {
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        const run = yield* makeOver(workspaceId, {
          projectId: (yield* makeProject(workspaceId)).id,
          agentId: (yield* makeAgent(workspaceId)).id,
          providerKeyId: (yield* makeProviderKey(workspaceId)).id,
          prompt: unicode,
          output: unicode,
          error: unicode,
          selectedProvider: "openai",
          selectedModel: unicode,
          connectorIds: ["conn_1", unicode],
          autonomyLevel: "supervised",
          traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          attempts: 3,
          epoch: 2,
          updatedAt: at(1)
        })
        assert.deepStrictEqual(yield* runs.find(run.id), Option.some(run))
      })
    )

    it.effect("keeps nulls and empty lists apart, and finds none where there is none", () =>
      Effect.gen(function* () {
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        const bare = yield* makeOver(workspaceId)
        const empty = yield* makeOver(workspaceId, { connectorIds: [], output: "" })
        assert.deepStrictEqual(yield* runs.find(bare.id), Option.some(bare))
        assert.deepStrictEqual(yield* runs.find(empty.id), Option.some(empty))
        assert.deepStrictEqual(yield* runs.find(yield* newId<RunId>("run")), Option.none())
      })
    )

    it.effect("lists the newest first, those of one moment by id", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const a = yield* makeOver(workspaceId, { createdAt: at(2), updatedAt: at(9) })
        const b = yield* makeOver(workspaceId, { createdAt: at(2) })
        const c = yield* makeOver(workspaceId, { createdAt: at(1) })
        const d = yield* makeOver(workspaceId, { createdAt: at(3) })
        yield* makeOver(yield* makeWorkspace)
        assert.deepStrictEqual(yield* list(workspaceId), { ids: [d.id, b.id, a.id, c.id], total: 4 })
      })
    )

    it.effect("lists pages, and counts all whatever the page", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const made = yield* Effect.replicateEffect(makeOver(workspaceId), 5)
        const ids = made.map(({ id }) => id).reverse()
        for (const [limit, offset] of [
          [2, 0],
          [2, 2],
          [2, 4],
          [2, 6],
          [0, 0],
          [100, 1]
        ] as const) {
          assert.deepStrictEqual(yield* list(workspaceId, { limit, offset }), {
            ids: ids.slice(offset, offset + limit),
            total: 5
          })
        }
      })
    )

    it.effect("lists by project, status and agent, alone and together", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const projectId = (yield* makeProject(workspaceId)).id
        const agentId = (yield* makeAgent(workspaceId)).id
        const status: RunStatus = "FAILED"
        const plain = yield* makeOver(workspaceId)
        const ofProject = yield* makeOver(workspaceId, { projectId })
        const ofAgent = yield* makeOver(workspaceId, { agentId })
        const failed = yield* makeOver(workspaceId, { status })
        const all = yield* makeOver(workspaceId, { projectId, agentId, status })
        yield* makeOver(yield* makeWorkspace, { status })
        const expect = (...runs: ReadonlyArray<StoredRun>) => ({
          ids: runs.map(({ id }) => id),
          total: runs.length
        })
        assert.deepStrictEqual(yield* list(workspaceId, { projectId }), expect(all, ofProject))
        assert.deepStrictEqual(yield* list(workspaceId, { agentId }), expect(all, ofAgent))
        assert.deepStrictEqual(yield* list(workspaceId, { status }), expect(all, failed))
        assert.deepStrictEqual(yield* list(workspaceId, { projectId, agentId, status }), expect(all))
        assert.deepStrictEqual(yield* list(workspaceId, { status: "CANCELLED" }), expect())
        assert.deepStrictEqual(
          yield* list(workspaceId, { projectId: undefined, agentId: undefined, status: undefined }),
          expect(all, failed, ofAgent, ofProject, plain)
        )
      })
    )

    it.effect("lists by cron job, alone and with the other filters", () =>
      Effect.gen(function* () {
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        const [cronJobId, otherJob] = [
          (yield* makeCronJob(workspaceId)).id,
          (yield* makeCronJob(workspaceId)).id
        ]
        const done = yield* makeOver(workspaceId, { cronJobId })
        const failed = yield* makeOver(workspaceId, { cronJobId, status: "FAILED" })
        yield* makeOver(workspaceId, { cronJobId: otherJob })
        yield* makeOver(workspaceId)
        assert.deepStrictEqual(yield* runs.find(done.id), Option.some(done))
        assert.deepStrictEqual(yield* list(workspaceId, { cronJobId }), {
          ids: [failed.id, done.id],
          total: 2
        })
        assert.deepStrictEqual(yield* list(workspaceId, { cronJobId, limit: 1, offset: 1 }), {
          ids: [done.id],
          total: 2
        })
        assert.deepStrictEqual(yield* list(workspaceId, { cronJobId, status: "FAILED" }), {
          ids: [failed.id],
          total: 1
        })
        assert.deepStrictEqual(yield* list(yield* makeWorkspace, { cronJobId }), { ids: [], total: 0 })
        assert.strictEqual((yield* list(workspaceId, { cronJobId: undefined })).total, 4)
      })
    )
  })
