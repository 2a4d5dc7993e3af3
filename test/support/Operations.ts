import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../src/Api/Api.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { makeApproval, makeRun } from "./Fixtures.ts"
import { makeTenant } from "./Service.ts"
import { makeWeb } from "./Web.ts"

type Json = Record<string, unknown>

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** The ids that it takes, such as `path id`, `query workspaceId`, `body agentId` and `header x-workspace-id`. */
  readonly ids: ReadonlyArray<string>
}

/** `providerId` names an entry of the registry of providers, which is no tenant's. */
const isId = (name: string) => /^id$|Ids?$/.test(name) && name !== "providerId"

/** What faces call an id outside of bodies, and what it is of. */
const faceFields: Readonly<Record<string, string>> = {
  "x-workspace-id": "workspace",
  chat: "conversation",
  model: "agent"
}

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))

const bodyFields = (operation: {
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> }
}) => {
  const reference = operation.requestBody?.content["application/json"]?.schema.$ref
  return Object.keys(document.components.schemas[reference?.split("/").at(-1) ?? ""]?.properties ?? {})
}

/** Every endpoint of the contract, taken from it, so that a new one is missing in the tables below. */
export const operations: ReadonlyArray<Operation> = Object.values(Api.groups)
  .flatMap((group) => Object.values(group.endpoints).map((endpoint) => ({ group, endpoint })))
  .map(({ endpoint, group }) => {
    const path = endpoint.path.replace(/:(\w+)/g, "{$1}")
    const operation = document.paths[path][endpoint.method.toLowerCase()]
    const parameters: ReadonlyArray<{ in: string; name: string }> = operation.parameters
    return {
      id: `${group.identifier}.${endpoint.identifier}`,
      method: endpoint.method,
      path,
      ids: [
        ...parameters
          .filter(({ name }) => isId(name) || name in faceFields)
          .map(({ in: where, name }) => `${where} ${name}`),
        ...bodyFields(operation)
          .filter(isId)
          .map((name) => `body ${name}`)
      ]
    }
  })

/** What each endpoint that changes something is sent, beside ids; reading takes nothing more. */
export const bodies: Readonly<Record<string, Json>> = {
  "agents.create": { name: "a" },
  "agents.update": { name: "changed" },
  "agents.setPolicy": { maxSteps: 1 },
  "cronJobs.create": { name: "c", schedule: "@daily", prompt: "p" },
  "cronJobs.update": { name: "changed" },
  "cronJobs.setPolicy": { maxSteps: 1 },
  "cronJobs.preview": { schedule: "@daily" },
  "cronJobs.run": {},
  "cronJobs.backfill": { from: "1969-12-31T00:00:00Z", to: "1970-01-01T00:00:00Z" },
  "cronJobs.takeOver": {},
  "connectors.create": { type: "custom" },
  "connectors.update": { providerName: "changed" },
  "connectors.check": {},
  "tasks.create": { prompt: "p" },
  "runs.cancel": {},
  "runs.retry": {},
  "approvals.decide": { decision: "approve" },
  "chat.send": { content: "hello" },
  "memory.upsert": { key: "k", value: "changed" },
  "workspaces.create": { name: "w" },
  "workspaces.update": { name: "changed" },
  "workspaces.putBudget": { monthlyUsd: 1_000 },
  "workspaces.addMember": { email: "stranger@example.org" },
  "projects.create": { name: "p" },
  "providerKeys.create": { name: "k", provider: "offline", model: "m" },
  "providerKeys.update": { pricing: { inputPerMillion: 1, outputPerMillion: 2 } },
  "tokens.create": { name: "t" },
  "webhooks.create": { url: "https://example.org/hook", events: ["*"] },
  "webhooks.update": { description: "changed" },
  "webhooks.rotateSecret": {},
  "webhooks.test": {},
  "webhooks.redeliver": {},
  "openAi.createChatCompletion": { model: "default", messages: [{ role: "user", content: "hello" }] },
  "openAi.createResponse": { model: "default", input: "hello" },
  "openAi.cancelResponse": {},
  "uiStream.send": {
    id: "chat",
    messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hello" }] }],
    trigger: "submit-message"
  },
  "uiStream.stop": {},
  "session.start": {},
  "session.startByLink": { code: "x".repeat(43) }
}

/** What `{id}` names, by the first part of an operation's id. */
const kinds: Readonly<Record<string, string>> = {
  agents: "agent",
  cronJobs: "cronJob",
  connectors: "connector",
  chat: "conversation",
  openAi: "response",
  memory: "memory",
  runs: "run",
  approvals: "approval",
  workspaces: "workspace",
  providerKeys: "providerKey",
  tokens: "token",
  webhooks: "webhook"
}
/** What is answered with success only of a run that is over. */
export const isOfEnded = ({ id }: Operation): boolean => id === "runs.events" || id === "runs.retry"

/** What takes no credential but its own, which works once: `test/Layers/HttpSession.test.ts` has one of each kind. */
export const isByLink = ({ id }: { readonly id: string }): boolean => id === "session.startByLink"

const kindsOfOne: Readonly<Record<string, string>> = {
  "openAi.cancelResponse": "waitingResponse",
  "webhooks.redeliver": "webhookDelivery"
}

export const kindOf = ({ id }: Operation): string => kindsOfOne[id] ?? kinds[id.split(".")[0] ?? ""] ?? ""

/** What an id field of the name means: `connectorIds` are connectors, `id` what the endpoint is about. */
export const kindOfField = (operation: Operation, name: string) =>
  name === "id"
    ? kindOf(operation)
    : (faceFields[name] ?? name.replace(/^defaultP/, "p").replace(/Ids?$/, ""))

/**
 * What a tenant reads: all but the events, which come until a run is over, what everybody is told, and what faces show of
 * the same again.
 */
const readings = operations.filter(
  ({ id, method }) => method === "GET" && id !== "runs.events" && !/^(system|openAi|uiStream)\./.test(id)
)

export const sayInUi = (id: string, text: string) => ({
  id,
  messages: [{ id: "m", role: "user", parts: [{ type: "text", text }] }]
})

export const makeWorld = Effect.gen(function* () {
  const { send } = yield* makeWeb

  const makeOne = Effect.gen(function* () {
    const { token, user, workspaceId } = yield* makeTenant()
    const create = (path: string, json: Json) =>
      Effect.map(send("POST", path, { token, json: { workspaceId, ...json } }), (answer) => {
        assert.strictEqual(answer.status, 201, answer.text)
        return (answer.body as { data: { id: string } }).data.id
      })
    const projectId = yield* create("/api/projects", { name: "p" })
    const chat = yield* send("POST", "/api/chat/messages", {
      token,
      json: { workspaceId, content: "secret" }
    })
    // Its stream ends when people are asked.
    const waiting = yield* send("POST", "/api/ui/default/chat", {
      token,
      json: { ...sayInUi("waiting", 'call remember {"key":"w","value":"v"}'), autonomyLevel: "supervised" }
    })
    const webhook = yield* create("/api/webhooks", {
      url: "https://example.org/hook",
      events: ["connector.error"]
    })
    const webhookDelivery = yield* create(`/api/webhooks/${webhook}/test`, {})
    const approval = yield* makeApproval(workspaceId)
    const run = yield* makeRun(workspaceId, { id: `run_${workspaceId}` as RunId })
    const ids: Readonly<Record<string, string>> = {
      workspace: workspaceId,
      project: projectId,
      user: user.id,
      run: run.id,
      approval: approval.id,
      conversation: /"conversationId":"(\w+)"/.exec(chat.text)?.[1] ?? "",
      response: `resp_${/"turnId":"[a-z]+_(\w+)"/.exec(chat.text)?.[1]}`,
      waitingResponse: `resp_${/"turnId":"[a-z]+_(\w+)"/.exec(waiting.text)?.[1]}`,
      agent: yield* create("/api/agents", { name: "a" }),
      cronJob: yield* create("/api/cron-jobs", { name: "c", schedule: "@daily", prompt: "p" }),
      connector: yield* create("/api/connectors", { type: "custom" }),
      memory: yield* create("/api/chat/memory", { key: "k", value: "v" }),
      providerKey: yield* create("/api/provider-keys", { name: "k", provider: "offline", model: "m" }),
      token: yield* create("/api/tokens", { name: "other" }),
      webhook,
      webhookDelivery
    }
    return { token, user, workspaceId, ids }
  })

  /** Everything that a tenant can read, as it is at the moment. */
  const snapshot = ({
    ids,
    token
  }: {
    readonly ids: Readonly<Record<string, string>>
    readonly token: string
  }) =>
    Effect.forEach(
      readings.map((operation) => {
        const path = operation.path.replace(
          /\{(\w+)\}/g,
          (_, name) => ids[kindOfField(operation, name)] ?? ""
        )
        return operation.ids.includes("query workspaceId") ? `${path}?workspaceId=${ids.workspace}` : path
      }),
      (path) =>
        Effect.map(send("GET", path, { token }), ({ status, text }) => {
          assert.strictEqual(status, 200, `${path} ${text}`)
          return `${path} ${text}`
        })
    )

  return { send, snapshot, mine: yield* makeOne, other: yield* makeOne }
})

/** A valid request in every other respect, with ids of a tenant, and `replaced` in one id field. */
export const requestOf = (
  operation: Operation,
  ids: Readonly<Record<string, string>>,
  replaced: { readonly idField?: string; readonly id?: string } = {}
) => {
  const { id: other = "", idField } = replaced
  const valueAt = (place: string, field: string) =>
    `${place} ${field}` === idField ? other : (ids[kindOfField(operation, field)] ?? "")
  const path = operation.path.replace(/\{(\w+)\}/g, (_, field) => encodeURIComponent(valueAt("path", field)))
  const query = new URLSearchParams()
  const json: Json = { ...bodies[operation.id] }
  const headers: Record<string, string> = {}
  for (const own of operation.ids) {
    const [place = "", field = ""] = own.split(" ")
    const isNeeded = own === idField || field === "workspaceId"
    if (place === "header") headers[field] = valueAt(place, field)
    if (place === "query" && isNeeded) query.set(field, valueAt("query", field))
    if (place === "body" && isNeeded) {
      json[field] = field.endsWith("Ids") ? [valueAt("body", field)] : valueAt("body", field)
    }
  }
  return { path: `${path}?${query}`, headers, ...(operation.id in bodies && { json }) }
}
