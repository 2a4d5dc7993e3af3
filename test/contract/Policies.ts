import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { runOfJob } from "../../src/Schemas/CronFire.ts"
import { AgentId, type CronJobId, type RunId } from "../../src/Schemas/Ids.ts"
import { type Policy, type RunPolicy, unset } from "../../src/Schemas/Policy.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeRun, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"
import { slot, subject } from "./CronFireSubject.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { subject as runSubject } from "./RunSubject.ts"

const full: Policy = {
  autonomyLevel: "supervised",
  connectorIds: ["conn_1", unicode],
  tools: [
    { match: unicode, rule: "deny" },
    { match: "*", rule: "ask" }
  ],
  maxSteps: 7,
  maxSeconds: 60
}
const small: Policy = { ...unset, connectorIds: [] }
const { autonomyLevel: _, ...ofRun } = full
const runPolicy: RunPolicy = ofRun

/** Agents and cron jobs keep their policies alike. */
const owners = {
  agents: Effect.gen(function* () {
    const repo = yield* AgentRepo
    const { id } = yield* makeAgent(yield* makeWorkspace)
    const gone = yield* newId<AgentId>("agent")
    return {
      found: Effect.map(repo.find(id), Option.getOrThrow),
      set: (before: Policy | null, after: Policy | null, millis = 9) =>
        repo.setPolicy(id, { before, after }, at(millis)),
      replace: (after: Policy | null) => repo.setPolicy(id, { after }, at(9)),
      setGone: repo.setPolicy(gone, { before: null, after: full }, at(9)),
      remove: repo.remove(id)
    }
  }),
  "cron jobs": Effect.gen(function* () {
    const repo = yield* CronJobRepo
    const { id } = yield* makeCronJob(yield* makeWorkspace, { nextFireAt: at(3_600_000) })
    const gone = yield* newId<CronJobId>("cronJob")
    return {
      found: Effect.map(repo.find(id), Option.getOrThrow),
      set: (before: Policy | null, after: Policy | null, millis = 9) =>
        repo.setPolicy(id, { before, after }, at(millis)),
      replace: (after: Policy | null) => repo.setPolicy(id, { after }, at(9)),
      setGone: repo.setPolicy(gone, { before: null, after: full }, at(9)),
      remove: repo.remove(id)
    }
  })
}

export const suite = (it: It) =>
  describe("policies", { concurrent: false }, () => {
    for (const [kind, make] of Object.entries(owners)) {
      it.effect(`of ${kind} are none at first, kept with every field, and taken away`, () =>
        Effect.gen(function* () {
          const { found, set } = yield* make
          const before = yield* found
          assert.isNull(before.policy)
          assert.isTrue(yield* set(null, full))
          assert.deepStrictEqual(yield* found, { ...before, policy: full, updatedAt: at(9) })
          assert.isTrue(yield* set(full, small, 10))
          assert.deepStrictEqual((yield* found).policy, small)
          assert.isTrue(yield* set(small, null, 11))
          assert.deepStrictEqual(yield* found, { ...before, updatedAt: at(11) })
        })
      )

      it.effect(`of ${kind} are replaced only where they are what they were`, () =>
        Effect.gen(function* () {
          const { found, remove, set, setGone } = yield* make
          assert.isFalse(yield* set(full, small))
          assert.isTrue(yield* set(null, full))
          for (const other of [null, small, { ...full, maxSteps: 8 }]) {
            assert.isFalse(yield* set(other, null), JSON.stringify(other))
          }
          // In which order its fields are makes no difference.
          const turned = Object.fromEntries(Object.entries(full).reverse()) as unknown as Policy
          const seen = yield* found
          assert.deepStrictEqual(seen.policy, full)
          assert.isTrue(yield* set(turned, small))
          assert.isFalse(yield* setGone)
          yield* remove
          assert.isFalse(yield* set(small, null))
        })
      )

      it.effect(`of ${kind} are replaced whatever they were, by who does not say what that was`, () =>
        Effect.gen(function* () {
          const { found, remove, replace } = yield* make
          for (const policy of [full, small, small, null]) {
            assert.isTrue(yield* replace(policy))
            assert.deepStrictEqual((yield* found).policy, policy)
          }
          const policies = [1, 2, 3, 4].map((maxSteps): Policy => ({ ...unset, maxSteps }))
          const set = yield* Effect.forEach(policies, replace, { concurrency: "unbounded" })
          assert.deepStrictEqual(set, [true, true, true, true])
          yield* remove
          assert.isFalse(yield* replace(full))
        })
      )

      it.effect(`of ${kind} are won by one of those who replace the same`, () =>
        Effect.gen(function* () {
          const { found, set } = yield* make
          const policies = [1, 2, 3, 4].map((maxSteps): Policy => ({ ...unset, maxSteps }))
          const won = yield* Effect.forEach(policies, (policy) => set(null, policy), {
            concurrency: "unbounded"
          })
          assert.lengthOf(
            won.filter((isWon) => isWon),
            1
          )
          assert.deepStrictEqual((yield* found).policy, policies[won.indexOf(true)])
        })
      )
    }

    it.effect("of runs are kept with them, and in no list", () =>
      Effect.gen(function* () {
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        const run = yield* makeRun(workspaceId, { status: "COMPLETED", policy: runPolicy })
        assert.deepStrictEqual(yield* runs.find(run.id), Option.some(run))
        const { runs: listed } = yield* runs.list({ workspaceId, limit: 10, offset: 0 })
        assert.deepStrictEqual(listed, [{ ...run, policy: null }])
      })
    )

    it.effect("of runs are there for whoever takes them", () =>
      Effect.gen(function* () {
        const { a, claimOne, workspaceId } = yield* runSubject
        const { id } = yield* makeRun(workspaceId, { policy: runPolicy })
        const claimed = yield* claimOne(a)
        assert.deepStrictEqual([claimed.id, claimed.policy], [id, runPolicy])
      })
    )

    it.effect("come with jobs that are due, and go into the runs that they make", () =>
      Effect.gen(function* () {
        const { claim, fires, make, transact, workspaceId } = yield* subject
        const agent = yield* makeAgent(workspaceId)
        const job = yield* make({ agentId: agent.id, policy: full })
        yield* (yield* AgentRepo).setPolicy(agent.id, { before: null, after: small }, at(9))
        const [due] = (yield* claim()).jobs
        assert.deepStrictEqual([due?.policy, due?.agentPolicy], [full, small])
        const id = yield* newId<RunId>("run")
        const run = runOfJob({ ...job, policy: full, agentPolicy: small }, id, at(7))
        const fire = { cronJobId: job.id, scheduledAt: slot(), outcome: "fired" as const, run }
        yield* transact(
          fires.record({
            firedAt: at(7),
            slots: [fire],
            backlogs: [],
            next: [{ cronJobId: job.id, nextFireAt: null }]
          })
        )
        const kept = Option.getOrThrow(yield* (yield* RunRepo).find(id))
        assert.strictEqual(kept.autonomyLevel, "supervised")
        assert.deepStrictEqual(kept.policy, { ...runPolicy, connectorIds: [] })
      })
    )

    it.effect("of an agent that was deleted come with no job", () =>
      Effect.gen(function* () {
        const { claim, make, workspaceId } = yield* subject
        const agent = yield* makeAgent(workspaceId)
        yield* make({ agentId: AgentId.make(agent.id), policy: small })
        yield* (yield* AgentRepo).setPolicy(agent.id, { before: null, after: full }, at(9))
        yield* (yield* AgentRepo).remove(agent.id)
        const [due] = (yield* claim()).jobs
        assert.deepStrictEqual([due?.policy, due?.agentPolicy], [small, null])
      })
    )
  })
