import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Application from "../../src/Layers/Application.ts"
import * as Inference from "../../src/Layers/Inference.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import type { Unavailable } from "../../src/Schemas/Errors.ts"
import type { ConversationId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { Agents } from "../../src/Services/Agents.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { CronJobs } from "../../src/Services/CronJobs.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { Workspaces } from "../../src/Services/Workspaces.ts"
import { makeCronJob } from "../contract/CronJobRepo.ts"
import { makeAgent, makeConversation, makeProviderKey } from "../support/Fixtures.ts"
import { makeTenant } from "../support/Service.ts"

/** What happens right after something was found that a request names: it is deleted behind the check. */
class Found extends Context.Service<Found, { kind: string | undefined }>()("agentd/test/Found") {}

interface Findable {
  readonly find: (id: never) => Effect.Effect<Option.Option<{ readonly id: string }>, Unavailable>
  readonly remove: (id: never) => Effect.Effect<unknown, Unavailable>
}

const hooked =
  (kind: string) =>
  <S extends Findable>(repo: S, found: Found["Service"]): S => ({
    ...repo,
    find: (id: never) =>
      Effect.tap(repo.find(id), () =>
        Effect.suspend(() => {
          if (found.kind !== kind) return Effect.void
          found.kind = undefined
          return repo.remove(id)
        })
      )
  })

const layerPorts = Layer.mergeAll(
  Layer.effect(AgentRepo, Effect.zipWith(AgentRepo, Found, hooked("agent"))),
  Layer.effect(ConversationRepo, Effect.zipWith(ConversationRepo, Found, hooked("conversation"))),
  Layer.effect(CronJobRepo, Effect.zipWith(CronJobRepo, Found, hooked("cronJob"))),
  Layer.effect(ProviderKeyRepo, Effect.zipWith(ProviderKeyRepo, Found, hooked("providerKey")))
)

const layer = Application.layerWith(Inference.layer).pipe(
  Layer.provideMerge(Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })),
  Layer.provideMerge(layerPorts),
  Layer.provideMerge(Repo.layerMemory),
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} }))),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.sync(Found, () => ({ kind: undefined })),
      Layer.succeed(Settings, Settings.defaults)
    )
  )
)

const subject = Effect.gen(function* () {
  const { user, workspaceId } = yield* makeTenant()
  const found = yield* Found
  const agent = yield* makeAgent(workspaceId)
  const key = yield* makeProviderKey(workspaceId)
  /** What a request answers while things of this kind are deleted as soon as they are found. */
  const deleting = <A, E, R>(kind: string, request: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      found.kind = kind
      return request
    })
  const refused = <A, E extends { readonly _tag: string; readonly error: string }, R>(
    kind: string,
    request: Effect.Effect<A, E, R>
  ) => Effect.map(Effect.flip(deleting(kind, request)), ({ _tag, error }) => [_tag, error])
  return { agent, deleting, found, key, refused, user, workspaceId }
})

const unknown = (field: string) => ["InvalidInput", `${field}: does not exist in this workspace`]

describe("What a request names and is deleted behind the check", () => {
  it.effect("is refused as a moment later: a key that agents name", () =>
    Effect.gen(function* () {
      const { agent, key, refused, user, workspaceId } = yield* subject
      const agents = yield* Agents
      const other = yield* makeProviderKey(workspaceId)
      const create = agents.create(user, { workspaceId, name: "n", providerKeyId: key.id })
      assert.deepStrictEqual(yield* refused("providerKey", create), unknown("providerKeyId"))
      const update = agents.update(user, agent.id, { providerKeyId: other.id })
      assert.deepStrictEqual(yield* refused("providerKey", update), unknown("providerKeyId"))
      const gone = agents.update(user, agent.id, { name: "n" })
      assert.deepStrictEqual(yield* refused("agent", gone), ["NotFound", "agent not found"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is refused as a moment later: an agent that cron jobs name, and the default key", () =>
    Effect.gen(function* () {
      const { agent, key, refused, user, workspaceId } = yield* subject
      const jobs = yield* CronJobs
      const other = yield* makeAgent(workspaceId)
      const job = yield* makeCronJob(workspaceId)
      const given = { workspaceId, name: "n", schedule: "@daily", prompt: "p", agentId: agent.id }
      assert.deepStrictEqual(yield* refused("agent", jobs.create(user, given)), unknown("agentId"))
      const update = jobs.update(user, job.id, { agentId: other.id })
      assert.deepStrictEqual(yield* refused("agent", update), unknown("agentId"))
      const workspaces = yield* Workspaces
      const choose = workspaces.update(user, workspaceId, { defaultProviderKeyId: key.id })
      assert.deepStrictEqual(yield* refused("providerKey", choose), unknown("defaultProviderKeyId"))
    }).pipe(Effect.provide(layer))
  )

  it.effect("is refused as a moment later: what tasks name, and a cron job that is to run", () =>
    Effect.gen(function* () {
      const { agent, key, refused, user, workspaceId } = yield* subject
      const runs = yield* Runs
      const task = { workspaceId, prompt: "p" }
      const named = runs.create(user, { ...task, agentId: agent.id })
      assert.deepStrictEqual(yield* refused("agent", named), unknown("agentId"))
      const keyed = runs.create(user, { ...task, providerKeyId: key.id })
      assert.deepStrictEqual(yield* refused("providerKey", keyed), unknown("providerKeyId"))
      const job = yield* makeCronJob(workspaceId)
      const ofJob = runs.createOfJob(user, job.id)
      assert.deepStrictEqual(yield* refused("cronJob", ofJob), ["NotFound", "cron job not found"])
      assert.strictEqual((yield* (yield* RunRepo).list({ workspaceId, limit: 9, offset: 0 })).total, 0)
    }).pipe(Effect.provide(layer))
  )

  it.effect("leaves a cron job without its agent, which then runs", () =>
    Effect.gen(function* () {
      const { agent, deleting, user, workspaceId } = yield* subject
      const runs = yield* Runs
      const job = yield* makeCronJob(workspaceId, { agentId: agent.id })
      const { id } = yield* deleting("agent", runs.createOfJob(user, job.id))
      assert.deepInclude(yield* runs.get(user, id), { agentId: null, cronJobId: job.id })
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "is refused as a moment later: what a message names; and a conversation goes on without its agent",
    () =>
      Effect.gen(function* () {
        const { agent, deleting, refused, user, workspaceId } = yield* subject
        const chat = yield* Chat
        const message = { workspaceId, content: "hello" }
        const other = yield* makeAgent(workspaceId)
        const named = chat.send(user, { ...message, agentId: other.id })
        assert.deepStrictEqual(yield* refused("agent", named), unknown("agentId"))
        const conversation = yield* makeConversation(workspaceId, { agentId: agent.id, ownerId: user.id })
        const conversationId: ConversationId = conversation.id
        const stream = yield* deleting("agent", chat.send(user, { ...message, conversationId }))
        const [first] = yield* Stream.runCollect(Stream.take(stream, 1))
        assert.strictEqual(first?.event.event, "conversation")
        assert.deepInclude(first?.event.data, { conversationId, agentId: null })
        yield* (yield* ConversationRepo).remove(conversationId)
        const again = yield* makeConversation(workspaceId, { ownerId: user.id })
        const gone = chat.send(user, { ...message, conversationId: again.id })
        assert.deepStrictEqual(yield* refused("conversation", gone), unknown("conversationId"))
      }).pipe(Effect.provide(layer))
  )
})
