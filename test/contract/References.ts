import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { toCronJob } from "../../src/Schemas/CronJob.ts"
import { ReferenceGone } from "../../src/Schemas/Errors.ts"
import type { AgentId, CronJobId, ProjectId, ProviderKeyId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { RemovalRepo } from "../../src/Services/RemovalRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeConversation,
  makeProviderKey,
  makeRun,
  makeWorkspace,
  newId,
  newRun
} from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { minute } from "./RunSubject.ts"

/** What was deleted: just now, and so long ago that nothing of it is left. */
const deleted = Effect.gen(function* () {
  const [agents, cronJobs] = [yield* AgentRepo, yield* CronJobRepo]
  const [keys, removals] = [yield* ProviderKeyRepo, yield* RemovalRepo]
  const workspaceId = yield* makeWorkspace
  const remove = Effect.gen(function* () {
    const { id: agentId } = yield* makeAgent(workspaceId)
    const { id: cronJobId } = yield* makeCronJob(workspaceId)
    const { id: providerKeyId } = yield* makeProviderKey(workspaceId)
    yield* Effect.all([agents.remove(agentId), cronJobs.remove(cronJobId), keys.remove(providerKeyId)])
    return { agentId, cronJobId, providerKeyId }
  })
  const long = yield* remove
  for (const [kind, id] of [
    ["agent", long.agentId],
    ["cronJob", long.cronJobId],
    ["providerKey", long.providerKeyId]
  ] as const) {
    assert.strictEqual(yield* removals.advance({ kind, id }, 9), 0)
  }
  const never = {
    agentId: yield* newId<AgentId>("agent"),
    cronJobId: yield* newId<CronJobId>("cronJob"),
    providerKeyId: yield* newId<ProviderKeyId>("providerKey")
  }
  return { gone: [yield* remove, long, never], workspaceId }
})

export const suite = (it: It) =>
  describe("What rows name", () => {
    it.effect("is refused when it is gone, by the name of the field, and nothing is written", () =>
      Effect.gen(function* () {
        const [agents, conversations] = [yield* AgentRepo, yield* ConversationRepo]
        const [cronJobs, runs, workspaces] = [yield* CronJobRepo, yield* RunRepo, yield* WorkspaceRepo]
        const { gone, workspaceId } = yield* deleted
        const key = yield* makeProviderKey(workspaceId)
        const agent = yield* makeAgent(workspaceId, { providerKeyId: key.id })
        const job = yield* makeCronJob(workspaceId, { agentId: agent.id })
        const conversation = yield* makeConversation(workspaceId, { agentId: agent.id })
        yield* workspaces.update(workspaceId, { name: "w", defaultProviderKeyId: key.id }, at())
        const started = { worker: "w", leaseMillis: minute, perWorkspace: 9 }
        const refused = <A, E, R>(effect: Effect.Effect<A, E, R>, field: string) =>
          Effect.map(Effect.flip(effect), (error) =>
            assert.deepStrictEqual<unknown>(error, new ReferenceGone({ field }))
          )
        const projectId = yield* newId<ProjectId>("project")
        for (const { agentId, cronJobId, providerKeyId } of gone) {
          yield* refused(makeAgent(workspaceId, { providerKeyId }), "providerKeyId")
          yield* refused(agents.update(agent.id, { name: "New", providerKeyId }, at(9)), "providerKeyId")
          yield* refused(makeCronJob(workspaceId, { agentId }), "agentId")
          yield* refused(cronJobs.update(job.id, { name: "New", agentId }, at(9)), "agentId")
          yield* refused(makeConversation(workspaceId, { agentId }), "agentId")
          yield* refused(conversations.setAgent(conversation.id, agentId), "agentId")
          const changes = { name: "New", defaultProviderKeyId: providerKeyId }
          yield* refused(workspaces.update(workspaceId, changes, at(9)), "defaultProviderKeyId")
          for (const names of [{ agentId }, { cronJobId }, { providerKeyId }]) {
            const [field = ""] = Object.keys(names)
            yield* refused(makeRun(workspaceId, names), field)
            yield* refused(runs.insert(yield* newRun(workspaceId, names), started), field)
          }
        }
        yield* refused(makeAgent(workspaceId, { projectId }), "projectId")
        yield* refused(makeCronJob(workspaceId, { projectId }), "projectId")
        yield* refused(makeConversation(workspaceId, { projectId }), "projectId")
        yield* refused(makeRun(workspaceId, { projectId }), "projectId")

        assert.deepStrictEqual(yield* listed(agents, { workspaceId }), [agent])
        assert.deepStrictEqual(yield* listed(cronJobs, { workspaceId }), [toCronJob(job)])
        const found = Option.getOrThrow(yield* conversations.find(conversation.id))
        assert.strictEqual(found.agentId, agent.id)
        assert.strictEqual((yield* conversations.list({ workspaceId, limit: 9, offset: 0 })).length, 1)
        const kept = Option.getOrThrow(yield* workspaces.find(workspaceId))
        assert.deepInclude(kept, { name: "w", defaultProviderKeyId: key.id })
        assert.strictEqual((yield* runs.list({ workspaceId, limit: 9, offset: 0 })).total, 0)
        // It counts for nothing: there is still room.
        assert.isTrue(
          yield* runs.insert(yield* newRun(workspaceId, { agentId: agent.id }), {
            ...started,
            perWorkspace: 1
          })
        )
      })
    )

    it.effect("is not asked for where there is nothing to change", () =>
      Effect.gen(function* () {
        const [agents, cronJobs] = [yield* AgentRepo, yield* CronJobRepo]
        const { gone, workspaceId } = yield* deleted
        for (const { agentId, cronJobId, providerKeyId } of gone) {
          assert.deepStrictEqual(yield* agents.update(agentId, { providerKeyId }, at()), Option.none())
          assert.deepStrictEqual(yield* cronJobs.update(cronJobId, { agentId }, at()), Option.none())
          const { id } = yield* makeAgent(workspaceId)
          assert.isTrue(Option.isSome(yield* agents.update(id, { providerKeyId: null }, at())))
        }
      })
    )
  })
