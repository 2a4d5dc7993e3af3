import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeProject, makeRun, unicode } from "../support/Fixtures.ts"
import { day, hour, idsOf, slot, subject } from "./CronFireSubject.ts"
import { readsWhileLocked } from "./Locking.ts"

export const suite = (it: It) =>
  describe("CronFireRepo", () => {
    it.effect("claims what is due by its own clock, the longest due first, and nothing that is off", () =>
      Effect.gen(function* () {
        const { claim, fires, make } = yield* subject
        const later = yield* make({ nextFireAt: slot(2) })
        const first = yield* make({ nextFireAt: slot(1) })
        yield* make({ nextFireAt: null, isActive: false })
        const now = yield* fires.now
        yield* make({ nextFireAt: new Date(now.getTime() + hour) })
        const claimed = yield* claim()
        assert.deepStrictEqual(idsOf(claimed), [first.id, later.id])
        assert.isAtLeast(claimed.at.getTime(), now.getTime())
        assert.isBelow(claimed.at.getTime(), now.getTime() + hour)
        assert.deepStrictEqual(idsOf(yield* claim(1)), [first.id])
      })
    )

    it.effect("tells all that firing needs to know", () =>
      Effect.gen(function* () {
        const { claim, make, workspaceId } = yield* subject
        const agent = yield* makeAgent(workspaceId)
        const project = yield* makeProject(workspaceId)
        const given = { agentId: agent.id, projectId: project.id, prompt: unicode, timezone: "Asia/Tokyo" }
        const job = yield* make(given)
        const due = {
          ...given,
          id: job.id,
          workspaceId,
          schedule: job.schedule,
          slot: slot(),
          isBusy: false,
          agentIsActive: true,
          isSpent: false,
          policy: null,
          agentPolicy: null
        }
        assert.deepStrictEqual((yield* claim()).jobs, [due])
        yield* (yield* AgentRepo).update(agent.id, { isActive: false }, at())
        assert.deepStrictEqual((yield* claim()).jobs, [{ ...due, agentIsActive: false }])
        yield* (yield* AgentRepo).remove(agent.id)
        assert.deepStrictEqual((yield* claim()).jobs, [{ ...due, agentId: null }])
      })
    )

    it.effect("knows whether a run of the job is active", () =>
      Effect.gen(function* () {
        const { claim, make, workspaceId } = yield* subject
        const runs = yield* RunRepo
        const job = yield* make()
        yield* makeRun(workspaceId)
        const isBusy = Effect.map(claim(), ({ jobs }) => jobs.map((due) => due.isBusy))
        assert.deepStrictEqual(yield* isBusy, [false])
        const run = yield* makeRun(workspaceId, { cronJobId: job.id })
        assert.deepStrictEqual(yield* isBusy, [true])
        yield* runs.cancel(run.id, at())
        assert.deepStrictEqual(yield* isBusy, [false])
        const waiting = yield* makeRun(workspaceId, { cronJobId: job.id, status: "WAITING_APPROVAL" })
        assert.deepStrictEqual(yield* isBusy, [true])
        yield* runs.cancel(waiting.id, at())
      })
    )

    it.effect("says how long until the earliest is due, and less than 0 once it is", () =>
      Effect.gen(function* () {
        const { fires, make } = yield* subject
        const until = Effect.map(fires.untilDue, (next) => Option.getOrThrow(next).millis)
        const now = (yield* fires.now).getTime()
        const far = yield* make({ nextFireAt: new Date(now + hour) })
        const millis = yield* until
        assert.isAtMost(millis, hour)
        assert.isAbove(millis, hour - 60_000)
        yield* make()
        assert.isBelow(yield* until, -day)
        yield* (yield* CronJobRepo).remove(far.id)
      })
    )

    it.effect("lets nobody else change a claimed job, nor switch its agent off", () =>
      Effect.gen(function* () {
        const { fires, jobs, make, next, workspaceId } = yield* subject
        const agents = yield* AgentRepo
        const agent = yield* makeAgent(workspaceId)
        const job = yield* make({ agentId: agent.id })
        const claimed = Effect.map(fires.claim(10), ({ jobs }) =>
          jobs.map(({ agentIsActive, id, slot }) => ({ agentIsActive, id, slot }))
        )
        const due = [{ agentIsActive: true, id: job.id, slot: slot() }]
        for (const change of [
          agents.update(agent.id, { isActive: false }, at()),
          jobs.update(job.id, { nextFireAt: null }, at())
        ]) {
          yield* agents.update(agent.id, { isActive: true }, at())
          const seen = yield* readsWhileLocked(claimed, change)
          assert.deepStrictEqual(
            seen,
            seen.map(() => due)
          )
        }
        assert.isNull(yield* next(job))
      })
    )
  })
