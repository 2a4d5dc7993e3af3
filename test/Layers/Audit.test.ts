import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer, type Vitest } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Api } from "../../src/Api/Api.ts"
import * as Application from "../../src/Layers/Application.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import type { AuditAction, AuditEntry } from "../../src/Schemas/Audit.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerNode } from "../support/Backends.ts"
import { snapshot } from "../support/Filled.ts"
import { makeApproval, makeRun, makeUser } from "../support/Fixtures.ts"
import { sayInUi } from "../support/Operations.ts"
import * as Postgres from "../support/Postgres.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

type Ids = Readonly<Record<string, string>>

interface Row {
  readonly action: AuditAction
  /** What is sent, beside the workspace. */
  readonly body?: (ids: Ids) => object
  /** The thing in the path. */
  readonly id?: string
  /** Of a body that takes nothing else than what it is for: the workspace is the only one of the caller. */
  readonly isFace?: true
  /** The target, where it is not what the path names: of the answer, or one of the things that there are. */
  readonly target?: (answer: Answer, ids: Ids) => string
}

const made = (answer: Answer) => dataOf<{ id: string }>(answer).id
const create = (action: AuditAction, body: object): Row => ({ action, body: () => body, target: made })

/** What is told of each endpoint that changes something. */
const rows: Readonly<Record<string, Row>> = {
  "agents.create": create("agent.create", { name: "a" }),
  "agents.update": { action: "agent.update", id: "agent", body: () => ({ name: "b" }) },
  "agents.setPolicy": { action: "agent.policy", id: "agent", body: () => ({ maxSteps: 1 }) },
  "agents.remove": { action: "agent.delete", id: "agent" },
  "approvals.decide": { action: "approval.reject", id: "approval", body: () => ({ decision: "reject" }) },
  "chat.send": {
    action: "message.send",
    body: () => ({ content: "hello" }),
    target: ({ text }) => /"conversationId":"(\w+)"/.exec(text)?.[1] ?? "no conversation"
  },
  "chat.remove": { action: "conversation.delete", id: "conversation" },
  "connectors.create": create("connector.create", { type: "custom" }),
  "connectors.update": { action: "connector.update", id: "connector", body: () => ({ providerName: "b" }) },
  "connectors.remove": { action: "connector.delete", id: "connector" },
  "cronJobs.create": create("cron_job.create", { name: "c", schedule: "@daily", prompt: "p" }),
  "cronJobs.update": { action: "cron_job.update", id: "cronJob", body: () => ({ name: "b" }) },
  "cronJobs.setPolicy": { action: "cron_job.policy", id: "cronJob", body: () => ({ maxSteps: 1 }) },
  "cronJobs.remove": { action: "cron_job.delete", id: "cronJob" },
  "cronJobs.run": { action: "cron_job.run", id: "cronJob" },
  "cronJobs.backfill": {
    action: "cron_job.backfill",
    id: "cronJob",
    body: ({ daysAgo2: to, daysAgo4: from }) => ({ from, to, only: "all" })
  },
  "cronJobs.cancelBackfill": { action: "cron_job.cancel_backfill", id: "cronJob" },
  "cronJobs.takeOver": { action: "cron_job.take_over", id: "cronJob" },
  "memory.upsert": create("memory.write", { key: "k", value: "changed" }),
  "memory.remove": { action: "memory.delete", id: "memory" },
  // The conversation is hidden: no answer says which it is.
  "openAi.createChatCompletion": {
    action: "message.send",
    isFace: true,
    body: () => ({ model: "default", messages: [{ role: "user", content: "hello" }] }),
    target: () => ""
  },
  "openAi.createResponse": {
    action: "message.send",
    isFace: true,
    body: () => ({ model: "default", input: "hello" }),
    target: ({ body }) => (body as { conversation: { id: string } }).conversation.id
  },
  "openAi.cancelResponse": {
    action: "run.cancel",
    id: "waitingResponse",
    target: (_, { waitingTurn = "" }) => waitingTurn
  },
  "openAi.deleteResponse": {
    action: "conversation.delete",
    id: "response",
    target: (_, { conversation = "" }) => conversation
  },
  "projects.create": create("project.create", { name: "p" }),
  "providerKeys.create": create("provider_key.create", { name: "k", provider: "offline", model: "m" }),
  "providerKeys.update": {
    action: "provider_key.update",
    id: "providerKey",
    body: () => ({ pricing: null })
  },
  "providerKeys.remove": { action: "provider_key.delete", id: "providerKey" },
  "runs.cancel": { action: "run.cancel", id: "run" },
  "runs.retry": { action: "run.retry", id: "brokenRun" },
  "session.start": { action: "session.start", target: () => "" },
  "session.end": { action: "session.end", target: () => "" },
  "tasks.create": create("run.create", { prompt: "p" }),
  "tokens.create": create("token.create", { name: "t" }),
  "tokens.remove": { action: "token.revoke", id: "token" },
  "uiStream.send": {
    action: "message.send",
    isFace: true,
    body: () => sayInUi("chat", "hello"),
    target: ({ text }) => /"conversationId":"(\w+)"/.exec(text)?.[1] ?? "no conversation"
  },
  "uiStream.stop": { action: "run.cancel", id: "waitingTurn" },
  "webhooks.create": create("webhook.create", { url: "https://example.org/hook", events: ["*"] }),
  "webhooks.update": { action: "webhook.update", id: "webhook", body: () => ({ description: "b" }) },
  "webhooks.remove": { action: "webhook.delete", id: "webhook" },
  "webhooks.rotateSecret": { action: "webhook.rotate_secret", id: "webhook" },
  "webhooks.test": { action: "webhook.test", id: "webhook" },
  "webhooks.redeliver": { action: "webhook.redeliver", id: "webhookDelivery" },
  "workspaces.create": create("workspace.create", { name: "w" }),
  "workspaces.update": { action: "workspace.update", id: "workspace", body: () => ({ name: "b" }) },
  "workspaces.putBudget": {
    action: "budget.update",
    id: "workspace",
    body: () => ({ monthlyUsd: 1_000 })
  },
  "workspaces.addMember": {
    action: "member.invite",
    id: "workspace",
    body: ({ stranger }) => ({ email: `${stranger}@example.org`, role: "owner" }),
    target: (answer) => dataOf<{ userId: string }>(answer).userId
  },
  "workspaces.removeMember": {
    action: "member.remove",
    id: "workspace",
    target: (_, { member }) => member ?? ""
  }
}

/** Those that take a POST and change nothing that is anybody's. */
const changeNothing = ["connectors.check", "cronJobs.preview"]
/** Asked by who has no credential; `HttpSession.test.ts` looks at what it leaves. */
const takesNone = ["session.startByLink"]

const operations = Object.values(Api.groups)
  .flatMap((group) => Object.values(group.endpoints).map((endpoint) => ({ group, endpoint })))
  .filter(({ endpoint }) => endpoint.method !== "GET")
  .map(({ endpoint, group }) => ({
    id: `${group.identifier}.${endpoint.identifier}`,
    method: endpoint.method,
    path: endpoint.path
  }))
  .filter(({ id }) => ![...changeNothing, ...takesNone].includes(id))

type Operation = (typeof operations)[number]

/** A workspace with one of everything, and another tenant. */
const makeWorld = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const { token, user, workspaceId } = yield* makeTenant()
  // Before anything waits: its run begins at once.
  const { id: approval } = yield* makeApproval(workspaceId)
  const other = yield* makeTenant()
  const member = yield* makeUser
  yield* (yield* WorkspaceRepo).addMember(workspaceId, member.id, "member", new Date(0))
  const post = (path: string, json: object) =>
    Effect.map(send("POST", path, { token, json: { workspaceId, ...json } }), (answer) => {
      assert.strictEqual(answer.status, 201, answer.text)
      return made(answer)
    })
  const today = (yield* now).getTime()
  const daysAgo = (days: number) => new Date(today - days * 86_400_000).toISOString()
  const hello = { token, json: { workspaceId, content: "hello" } }
  const chat = yield* send("POST", "/api/chat/messages", hello)
  // Its stream ends when people are asked.
  const waitingChat = yield* send("POST", "/api/ui/default/chat", {
    token,
    json: { ...sayInUi("waiting", 'call remember {"key":"k","value":"v"}'), autonomyLevel: "supervised" }
  })
  const session = yield* send("POST", "/api/session", { token })
  const tokens = yield* send("GET", "/api/tokens", { token })
  const own = dataOf<ReadonlyArray<{ id: string; name: string }>>(tokens).find(({ name }) => name === "test")
  const webhook = yield* post("/api/webhooks", {
    url: "https://example.org/hook",
    events: ["connector.error"]
  })
  const ids: Ids = {
    webhook,
    webhookDelivery: yield* post(`/api/webhooks/${webhook}/test`, {}),
    workspace: workspaceId,
    user: user.id,
    member: member.id,
    stranger: other.user.id,
    approval,
    run: (yield* makeRun(workspaceId)).id,
    brokenRun: (yield* makeRun(workspaceId, { status: "FAILED" })).id,
    waitingTurn: /"turnId":"(\w+)"/.exec(waitingChat.text)?.[1] ?? "",
    waitingResponse: `resp_${/"turnId":"turn_(\w+)"/.exec(waitingChat.text)?.[1]}`,
    response: `resp_${/"turnId":"turn_(\w+)"/.exec(chat.text)?.[1]}`,
    conversation: /"conversationId":"(\w+)"/.exec(chat.text)?.[1] ?? "",
    agent: yield* post("/api/agents", { name: "a" }),
    cronJob: yield* post("/api/cron-jobs", { name: "c", schedule: "@daily", prompt: "p" }),
    connector: yield* post("/api/connectors", { type: "custom" }),
    memory: yield* post("/api/chat/memory", { key: "k", value: "v" }),
    providerKey: yield* post("/api/provider-keys", { name: "k", provider: "offline", model: "m" }),
    token: yield* post("/api/tokens", { name: "other" }),
    daysAgo2: daysAgo(2),
    daysAgo4: daysAgo(4)
  }
  const json = { from: daysAgo(8), to: daysAgo(6), only: "all" }
  const waiting = yield* send("POST", `/api/cron-jobs/${ids.cronJob}/backfill`, { token, json })
  assert.deepStrictEqual(dataOf(waiting), { slots: 2 })
  const cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  let requests = 0

  const call = ({ id, method, path }: Operation, as = token) => {
    const row = rows[id]
    assert.isDefined(row, `${id} is not in the table of this test: what does it leave in the audit log?`)
    const requestId = `asked-${workspaceId}-${++requests}`
    const filled = path
      .replace(":id", ids[row.id ?? ""] ?? "")
      .replace(":userId", member.id)
      .replace(":agentId", "default")
      .replace(":chat", "waiting")
    const json =
      method === "DELETE"
        ? undefined
        : { ...(row.isFace === undefined && { workspaceId }), ...row.body?.(ids) }
    const headers = { "x-request-id": requestId, ...(id === "session.end" && { cookie }) }
    return Effect.map(
      send(method, filled, { token: as, headers, ...(json !== undefined && { json }) }),
      (answer) => ({ answer, requestId, row })
    )
  }
  const logOf = (workspace: string, as = token) =>
    Effect.map(
      send("GET", `/api/audit?workspaceId=${workspace}&limit=1000`, { token: as }),
      (answer): ReadonlyArray<AuditEntry> => {
        assert.strictEqual(answer.status, 200, answer.text)
        return dataOf(answer)
      }
    )
  return { call, ids, logOf, other, send, token, tokenId: own?.id, user, workspaceId }
})

class Worlds extends Context.Service<
  Worlds,
  { readonly make: Effect.Effect<Effect.Success<typeof makeWorld>, unknown, Scope.Scope> }
>()("agentd/test/Audit/Worlds") {
  static readonly layer = Layer.effect(
    Worlds,
    Effect.map(Effect.context<Exclude<Effect.Services<typeof makeWorld>, Scope.Scope>>(), (context) => ({
      make: Effect.provideContext(makeWorld, context)
    }))
  )
}

const world = Effect.flatMap(Worlds, ({ make }) => make)

const suite = (it: Vitest.MethodsNonLive<Worlds>) => {
  for (const operation of operations) {
    it.effect(`${operation.id} leaves one entry: who, what, to what, by which request`, () =>
      Effect.gen(function* () {
        const { call, ids, logOf, tokenId, user, workspaceId } = yield* world
        const { answer, requestId, row } = yield* call(operation)
        assert.isBelow(answer.status, 300, answer.text)
        const workspace = operation.id === "workspaces.create" ? made(answer) : workspaceId
        const found = (yield* logOf(workspace)).filter((entry) => entry.requestId === requestId)
        assert.lengthOf(found, 1)
        const [entry] = found
        assert.deepStrictEqual(Object.keys(entry ?? {}), [
          "id",
          "at",
          "actor",
          "action",
          "targetId",
          "requestId",
          "address"
        ])
        assert.strictEqual(entry?.action, row.action)
        assert.deepStrictEqual(entry?.actor, { userId: user.id, tokenId } as never)
        const target = row.target?.(answer, ids) ?? ids[row.id ?? ""]
        if (target === "") assert.match(entry?.targetId ?? "", row.isFace ? /^conv_/ : /^token_/)
        else assert.strictEqual(entry?.targetId, target)
      })
    )

    it.effect(`${operation.id} leaves none where it is refused`, () =>
      Effect.gen(function* () {
        const { call, logOf, other, workspaceId } = yield* world
        const before = [yield* logOf(workspaceId), yield* logOf(other.workspaceId, other.token)]
        const { answer } = yield* call(operation, other.token)
        // What takes no id does as well for anybody.
        if (answer.status < 300) {
          const takeNone = ["session.start", "session.end", "tokens.create", "workspaces.create"]
          const faces = ["openAi.createChatCompletion", "openAi.createResponse", "uiStream.send"]
          assert.include([...takeNone, ...faces], operation.id)
          return
        }
        assert.include([403, 404], answer.status, answer.text)
        assert.strictEqual((yield* call(operation, "agentd_no")).answer.status, 401)
        assert.deepStrictEqual(
          [yield* logOf(workspaceId), yield* logOf(other.workspaceId, other.token)],
          before
        )
      })
    )
  }
}

const inMemory = Layer.provide(Worlds.layer, layerOffline())

const layerPostgres = Worlds.layer.pipe(
  Layer.provide(Application.layer),
  Layer.provide(Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })),
  Layer.provideMerge(layerNode(Postgres.layerClient))
)

describe("the audit log", () => {
  it("knows what every endpoint does that changes something", () => {
    assert.sameMembers(
      operations.map(({ id }) => id),
      Object.keys(rows)
    )
  })

  layer(inMemory, { excludeTestServices: true })("in memory", suite)

  const onServer = (it: Vitest.MethodsNonLive<Layer.Success<typeof layerPostgres>>) => {
    suite(it)

    for (const operation of operations) {
      it.effect(`${operation.id} changes nothing where its entry can't be written`, () =>
        Effect.gen(function* () {
          const sql = yield* PgClient
          const { call } = yield* world
          yield* sql`alter table audit_entries add constraint refused check (false) not valid`
          const { rows: before } = yield* snapshot
          const { answer } = yield* call(operation)
          const { rows: after } = yield* snapshot
          yield* sql`alter table audit_entries drop constraint refused`
          isError(inOurForm(answer), 500, "internal_error", "internal error")
          assert.deepStrictEqual(after, before)
        })
      )
    }
  }
  if (Postgres.hasPostgres) {
    layer(layerPostgres, { excludeTestServices: true })("on PostgreSQL", onServer)
  } else {
    describe.skip(Postgres.skipped("on PostgreSQL"), () =>
      layer(layerPostgres, { excludeTestServices: true })(onServer)
    )
  }
})

/** `isError` expects a request id that the service has made, and no form of another protocol. */
const inOurForm = (answer: Answer): Answer => {
  const headers = new Headers(answer.headers)
  headers.set("x-request-id", "req_1")
  if (answer.body === undefined) {
    headers.set("content-type", "application/json")
    return { ...answer, headers, body: { error: answer.text } }
  }
  const { error } = answer.body as { readonly error: string | { readonly message: string } }
  return { ...answer, headers, body: { error: typeof error === "string" ? error : error.message } }
}
