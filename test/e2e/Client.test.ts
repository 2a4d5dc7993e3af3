import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentId, ConversationId, CronJobId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { chatEvents, makeClient } from "../support/Client.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

describe("a client derived from the contract", () => {
  const dataDir = makeDataDir()
  let server: Server
  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    dataDir.remove()
  })
  const connect = Effect.suspend(() => makeClient(server.baseUrl, readCredentials(dataDir.path).token))
  const own = () => readCredentials(dataDir.path).workspaceId

  it.live("calls every group, and has dates where the wire has texts", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const workspaceId = own()
      const query = { workspaceId }

      const live = yield* client.system.live()
      assert.strictEqual(live.data.status, "ok")
      const { data: workspaces } = yield* client.workspaces.list()
      assert.deepStrictEqual(
        workspaces.map(({ id, role }) => ({ id, role })),
        [{ id: workspaceId, role: "owner" }]
      )

      const { data: agent } = yield* client.agents.create({ payload: { workspaceId, name: "A" } })
      assert.instanceOf(agent.createdAt, Date)
      const read = yield* client.agents.get({ params: { id: agent.id } })
      assert.deepStrictEqual(read.data, agent)
      const payload = { description: null, isActive: true }
      const updated = yield* client.agents.update({ params: { id: agent.id }, payload })
      assert.deepStrictEqual(updated.data, { ...agent, updatedAt: updated.data.updatedAt })

      const { data: second } = yield* client.agents.create({ payload: { workspaceId, name: "B" } })
      const page = yield* client.agents.list({ query: { workspaceId, limit: 1 } })
      assert.deepStrictEqual(page, { data: [updated.data], nextAfter: agent.id })
      const last = yield* client.agents.list({ query: { workspaceId, limit: 1, after: agent.id } })
      assert.deepStrictEqual(last, { data: [second], nextAfter: null })
      yield* client.agents.remove({ params: { id: second.id } })

      const job = { workspaceId, name: "C", schedule: "@daily", prompt: "p", agentId: agent.id }
      const { data: cronJob } = yield* client.cronJobs.create({ payload: job })
      assert.deepStrictEqual(cronJob.agent, { id: agent.id, name: "A" })
      const after = new Date("2026-11-20T08:00:00.000Z")
      const preview = yield* client.cronJobs.preview({
        payload: { schedule: "@daily", after, count: 1 }
      })
      assert.deepStrictEqual(preview.data, [new Date("2026-11-21T00:00:00.000Z")])

      const { data: connector } = yield* client.connectors.create({
        payload: { workspaceId, providerId: "github", metadata: { credential: "secret" } }
      })
      assert.deepInclude(connector, { status: "ACTIVE", hasCredential: true, providerName: "GitHub" })
      const removed = yield* client.connectors.remove({ params: { id: connector.id } })
      assert.isTrue(removed.data.success)

      const { data: run } = yield* client.tasks.create({
        payload: { workspaceId, prompt: "work", autonomyLevel: "autonomous", connectorIds: [] }
      })
      assert.strictEqual(run.status, "PENDING")
      const runs = yield* client.runs.list({ query: { workspaceId, limit: 1, offset: 0 } })
      assert.strictEqual(runs.total, 1)
      assert.strictEqual(runs.data[0]?.id, run.id)

      yield* client.memory.upsert({ payload: { workspaceId, key: "city", value: "Bonn" } })
      const { data: entries } = yield* client.memory.list({ query: { workspaceId, key: "city" } })
      assert.deepStrictEqual(
        entries.map(({ category, value }) => ({ category, value })),
        [{ category: "general", value: "Bonn" }]
      )
      const entry = entries[0]
      if (entry !== undefined) yield* client.memory.remove({ params: { id: entry.id } })
      assert.deepStrictEqual((yield* client.memory.list({ query })).data, [])

      const { data: token } = yield* client.tokens.create({
        payload: { name: "t", expiresInDays: 1 }
      })
      const other = yield* makeClient(server.baseUrl, token.token)
      assert.lengthOf((yield* other.tokens.list()).data, 2)

      yield* client.agents.remove({ params: { id: agent.id } })
      assert.deepStrictEqual((yield* client.agents.list({ query })).data, [])
    })
  )

  it.live("decodes a chat stream into events, and the conversation lists what they said", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const workspaceId = own()
      const { body } = yield* client.chat.send({ payload: { workspaceId, content: "call current_time {}" } })
      const events = Array.from(yield* Stream.runCollect(chatEvents(body)))
      const [first] = events
      const last = events.at(-1)
      if (first?.event !== "conversation" || last?.event !== "done") {
        return assert.fail(events.map(({ event }) => event).join())
      }
      assert.instanceOf(last.data.message.createdAt, Date)
      const deltas = events.flatMap(({ data, event }) =>
        event === "status" && "delta" in data ? [data.delta] : []
      )
      assert.strictEqual(deltas.join(""), last.data.message.content)
      const { data: conversations } = yield* client.chat.list({
        query: { workspaceId, limit: 50, offset: 0 }
      })
      assert.strictEqual(conversations[0]?.id, first.data.conversationId)
      const { data: conversation } = yield* client.chat.get({
        params: { id: first.data.conversationId },
        query: {}
      })
      assert.deepStrictEqual(conversation.messages.at(-1), last.data.message)
    })
  )

  it.live("breaks off a chat stream and takes it up again, to its end and not behind it", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const { body } = yield* client.chat.send({ payload: { workspaceId: own(), content: "Hello" } })
      const first = yield* Stream.runCollect(Stream.take(chatEvents(body), 2))
      const params = { id: first[0]?.event === "conversation" ? first[0].data.turnId : assert.fail() }
      const rest = yield* client.runs.events({ params, headers: { "last-event-id": 2 } })
      const events = [...first, ...(yield* Stream.runCollect(chatEvents((rest ?? assert.fail()).body)))]
      const last = events.at(-1)
      assert.strictEqual(
        events
          .flatMap(({ data, event }) => (event === "status" && "delta" in data ? [data.delta] : []))
          .join(""),
        last?.event === "done" ? last.data.message.content : ""
      )
      assert.isUndefined(yield* client.runs.events({ params, headers: { "last-event-id": events.length } }))
    })
  )

  it.live("has errors by name", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const workspaceId = own()
      const absent = { params: { id: "agent_absent" as AgentId } }
      const missing = yield* Effect.flip(client.agents.get(absent))
      assert.deepInclude(missing, { _tag: "NotFound", error: "agent not found" })
      const patch = yield* Effect.flip(
        client.cronJobs.update({ params: { id: "cron_absent" as CronJobId }, payload: { isActive: true } })
      )
      assert.strictEqual(patch._tag, "NotFound")
      const foreign = { query: { workspaceId: "ws_absent" as WorkspaceId } }
      assert.strictEqual((yield* Effect.flip(client.agents.list(foreign)))._tag, "Forbidden")
      const stranger = yield* makeClient(server.baseUrl, "wrong")
      const refused = yield* Effect.flip(stranger.agents.list({ query: { workspaceId } }))
      assert.strictEqual(refused._tag, "Unauthenticated")
      const invalid = yield* client.cronJobs
        .create({ payload: { workspaceId, name: "C", schedule: "0 0 30 2 *", prompt: "p" } })
        .pipe(Effect.catchTag("InvalidInput", ({ error }) => Effect.succeed(error)))
      assert.strictEqual(invalid, "schedule: never fires")
      const conversationId = "conv_absent" as ConversationId
      const chat = client.chat.send({ payload: { workspaceId, content: "hi", conversationId } })
      const unsent = yield* Effect.flip(chat)
      assert.deepInclude(unsent, {
        _tag: "InvalidInput",
        error: "conversationId: does not exist in this workspace"
      })

      const create = client.connectors.create({ payload: { workspaceId, type: "custom" } })
      yield* Effect.all(Array.from({ length: 5 }, () => create))
      assert.strictEqual((yield* Effect.flip(create))._tag, "PlanLimitExceeded")

      const { data: agent } = yield* client.agents.create({ payload: { workspaceId, name: "A" } })
      yield* client.agents.update({ params: { id: agent.id }, payload: { isActive: false } })
      const task = client.tasks.create({ payload: { workspaceId, prompt: "work", agentId: agent.id } })
      assert.strictEqual((yield* Effect.flip(task))._tag, "AgentInactive")
    })
  )
})
