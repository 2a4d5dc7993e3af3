import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Agent, StoredAgent, UpdateAgent } from "../../src/Schemas/Agent.ts"
import type { AgentId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeConversation,
  makeProject,
  makeProviderKey,
  makeRun,
  makeWorkspace,
  newId,
  unicode
} from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"
import { makeCronJob } from "./CronJobRepo.ts"

const makeFullAgent = Effect.gen(function* () {
  const workspaceId = yield* makeWorkspace
  const key = yield* makeProviderKey(workspaceId)
  const agent = yield* makeAgent(workspaceId, {
    projectId: (yield* makeProject(workspaceId)).id,
    name: unicode,
    description: unicode,
    systemPrompt: unicode,
    providerKeyId: key.id,
    updatedAt: at(1)
  })
  return { agent, key, workspaceId }
})

export const suite = (it: It) =>
  describe("AgentRepo", () => {
    it.effect("returns on insert what it finds later, with the summary of the key", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const { agent, key } = yield* makeFullAgent
        const { id, model, name, provider } = key
        assert.deepStrictEqual(agent.providerKey, { id, model, name, provider })
        assert.strictEqual(agent.name, unicode)
        assert.deepStrictEqual([agent.createdAt, agent.updatedAt], [at(), at(1)])
        assert.deepStrictEqual(yield* agents.find(agent.id), Option.some({ ...agent, policy: null }))
      })
    )

    it.effect("keeps nulls, and finds none where there is none", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const workspaceId = yield* makeWorkspace
        const agent = yield* makeAgent(workspaceId)
        assert.deepStrictEqual(agent, {
          id: agent.id,
          workspaceId,
          projectId: null,
          name: "Agent",
          description: null,
          systemPrompt: null,
          isActive: true,
          providerKeyId: null,
          providerKey: null,
          createdAt: at(),
          updatedAt: at()
        })
        assert.deepStrictEqual(yield* agents.find(agent.id), Option.some({ ...agent, policy: null }))
        assert.deepStrictEqual(yield* agents.find(yield* newId<AgentId>("agent")), Option.none())
      })
    )

    it.effect("lists oldest first, those of one moment by id, and no other workspace", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const workspaceId = yield* makeWorkspace
        const ids = yield* Effect.replicateEffect(newId<AgentId>("agent"), 5)
        const [a, b, c, d, e] = ids as [AgentId, AgentId, AgentId, AgentId, AgentId]
        yield* makeAgent(workspaceId, { id: c, createdAt: at(2) })
        yield* makeAgent(workspaceId, { id: e, createdAt: at(1) })
        yield* makeAgent(workspaceId, { id: a, createdAt: at(3) })
        yield* makeAgent(workspaceId, { id: b, createdAt: at(2) })
        yield* makeAgent(yield* makeWorkspace, { id: d, createdAt: at(2) })
        const found = yield* listed(agents, { workspaceId })
        assert.deepStrictEqual(
          found.map(({ id }) => id),
          [e, b, c, a]
        )
      })
    )

    it.effect("lists one project alone", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
        const mine = yield* makeAgent(workspaceId, { projectId: one.id })
        const other = yield* makeAgent(workspaceId, { projectId: two.id })
        const none = yield* makeAgent(workspaceId)
        assert.deepStrictEqual(yield* listed(agents, { workspaceId, projectId: one.id }), [mine])
        assert.deepStrictEqual(yield* listed(agents, { workspaceId, projectId: undefined }), [
          mine,
          other,
          none
        ])
        const elsewhere = yield* makeWorkspace
        assert.deepStrictEqual(yield* listed(agents, { workspaceId: elsewhere, projectId: one.id }), [])
      })
    )

    it.effect("finds up to two of a name: active ones first, the oldest first", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const workspaceId = yield* makeWorkspace
        const named = (name: string) =>
          Effect.map(agents.named(workspaceId, name), (found) => found.map(({ id }) => id))
        assert.deepStrictEqual(yield* named("Twin"), [])
        const younger = yield* makeAgent(workspaceId, { name: "Twin", createdAt: at(3) })
        const older = yield* makeAgent(workspaceId, { name: "Twin", createdAt: at(2) })
        const off = yield* makeAgent(workspaceId, { name: "Twin", createdAt: at(1), isActive: false })
        yield* makeAgent(workspaceId, { name: "twin" })
        yield* makeAgent(yield* makeWorkspace, { name: "Twin" })
        assert.deepStrictEqual(yield* named("Twin"), [older.id, younger.id])
        yield* agents.remove(older.id)
        assert.deepStrictEqual(yield* named("Twin"), [younger.id, off.id])
        yield* agents.remove(younger.id)
        assert.deepStrictEqual(yield* agents.named(workspaceId, "Twin"), [{ ...off, policy: null }])
      })
    )

    it.effect("keeps what a patch does not name", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const { agent } = yield* makeFullAgent
        assert.deepStrictEqual(
          yield* agents.update(agent.id, {}, at(9)),
          Option.some({ ...agent, updatedAt: at(9) })
        )
      })
    )

    it.effect.each<[UpdateAgent, Partial<Agent>]>([
      [{ name: "New" }, { name: "New" }],
      [{ description: "New" }, { description: "New" }],
      [{ description: null }, { description: null }],
      [{ systemPrompt: "" }, { systemPrompt: "" }],
      [{ systemPrompt: null }, { systemPrompt: null }],
      [{ isActive: false }, { isActive: false }],
      [{ providerKeyId: null }, { providerKeyId: null, providerKey: null }]
    ])("patches one field: %j", ([patch, expected]) =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const { agent } = yield* makeFullAgent
        const updated = { ...agent, ...expected, updatedAt: at(9) }
        assert.deepStrictEqual(yield* agents.update(agent.id, patch, at(9)), Option.some(updated))
        assert.deepStrictEqual(
          yield* agents.find(agent.id),
          Option.some<StoredAgent>({ ...updated, policy: null })
        )
      })
    )

    it.effect("shows the new key when a patch names one", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const { agent, workspaceId } = yield* makeFullAgent
        const { id, model, name, provider } = yield* makeProviderKey(workspaceId)
        const updated = yield* agents.update(agent.id, { providerKeyId: id }, at(9))
        assert.deepStrictEqual(Option.getOrThrow(updated).providerKey, { id, model, name, provider })
      })
    )

    it.effect("loses neither of two patches at the same time", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const { agent } = yield* makeFullAgent
        const patches: ReadonlyArray<UpdateAgent> = [
          { name: "New" },
          { description: null },
          { systemPrompt: "New" },
          { isActive: false }
        ]
        yield* Effect.forEach(patches, (patch) => agents.update(agent.id, patch, at(9)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          yield* agents.find(agent.id),
          Option.some({
            ...agent,
            policy: null,
            name: "New",
            description: null,
            systemPrompt: "New",
            isActive: false,
            updatedAt: at(9)
          })
        )
      })
    )

    it.effect("updates none where there is none", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const id = yield* newId<AgentId>("agent")
        assert.deepStrictEqual(yield* agents.update(id, { name: "New" }, at()), Option.none())
        assert.deepStrictEqual(yield* agents.find(id), Option.none())
      })
    )

    it.effect("leaves what named the agent that it removes without one, and others with theirs", () =>
      Effect.gen(function* () {
        const agents = yield* AgentRepo
        const workspaceId = yield* makeWorkspace
        const [gone, kept] = [yield* makeAgent(workspaceId), yield* makeAgent(workspaceId)]
        const makeWork = Effect.fnUntraced(function* (agentId: AgentId) {
          const conversation = yield* makeConversation(workspaceId, { agentId })
          return {
            conversation: Option.getOrThrow(yield* (yield* ConversationRepo).find(conversation.id)),
            cronJob: yield* makeCronJob(workspaceId, { agentId, nextFireAt: at(5) }),
            run: yield* makeRun(workspaceId, { agentId, status: "COMPLETED" })
          }
        })
        type Work = Effect.Success<ReturnType<typeof makeWork>>
        const read = Effect.fnUntraced(function* (work: Work) {
          return {
            conversation: Option.getOrThrow(yield* (yield* ConversationRepo).find(work.conversation.id)),
            cronJob: Option.getOrThrow(yield* (yield* CronJobRepo).find(work.cronJob.id)),
            run: Option.getOrThrow(yield* (yield* RunRepo).find(work.run.id))
          }
        })
        const [bereft, other] = [yield* makeWork(gone.id), yield* makeWork(kept.id)]

        assert.isTrue(yield* agents.remove(gone.id))
        assert.deepStrictEqual(yield* agents.find(gone.id), Option.none())
        assert.deepStrictEqual(yield* listed(agents, { workspaceId }), [kept])
        assert.deepStrictEqual(yield* read(bereft), {
          conversation: { ...bereft.conversation, agentId: null, agent: null },
          cronJob: { ...bereft.cronJob, agentId: null, agent: null },
          run: { ...bereft.run, agentId: null }
        })
        assert.deepStrictEqual(yield* read(other), other)
        assert.isFalse(yield* agents.remove(gone.id))
      })
    )
  })
