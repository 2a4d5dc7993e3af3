import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenApi from "effect/http-api/OpenApi"
import { Api } from "../../src/Api/Api.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { makeApproval, makeRun } from "../support/Fixtures.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { makeWeb } from "../support/Web.ts"

type Json = Record<string, unknown>

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** The ids that it takes, such as `path id`, `query workspaceId` and `body agentId`. */
  readonly ids: ReadonlyArray<string>
}

/** `providerId` names an entry of the registry of providers, which is no tenant's. */
const isId = (name: string) => /^id$|Ids?$/.test(name) && name !== "providerId"

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))

const bodyFields = (operation: {
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> }
}) => {
  const reference = operation.requestBody?.content["application/json"]?.schema.$ref
  return Object.keys(document.components.schemas[reference?.split("/").at(-1) ?? ""]?.properties ?? {})
}

/** Every endpoint of the contract, taken from it, so that a new one is missing in the tables below. */
const operations: ReadonlyArray<Operation> = Object.values(Api.groups)
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
        ...parameters.filter(({ name }) => isId(name)).map(({ in: where, name }) => `${where} ${name}`),
        ...bodyFields(operation)
          .filter(isId)
          .map((name) => `body ${name}`)
      ]
    }
  })

/** What each endpoint that changes something is sent, beside ids; reading takes nothing more. */
const bodies: Readonly<Record<string, Json>> = {
  "agents.create": { name: "a" },
  "agents.update": { name: "changed" },
  "cronJobs.create": { name: "c", schedule: "@daily", prompt: "p" },
  "cronJobs.update": { name: "changed" },
  "cronJobs.preview": { schedule: "@daily" },
  "cronJobs.run": {},
  "connectors.create": { type: "custom" },
  "connectors.update": { providerName: "changed" },
  "connectors.check": {},
  "tasks.create": { prompt: "p" },
  "runs.cancel": {},
  "approvals.decide": { decision: "approve" },
  "chat.send": { content: "hello" },
  "memory.upsert": { key: "k", value: "changed" },
  "workspaces.create": { name: "w" },
  "workspaces.update": { name: "changed" },
  "workspaces.addMember": { email: "stranger@example.org" },
  "projects.create": { name: "p" },
  "providerKeys.create": { name: "k", provider: "offline", model: "m" },
  "tokens.create": { name: "t" },
  "session.start": {}
}

/** Endpoints that take no id: nothing of another tenant can be named in them. */
const withoutIds = [
  "cronJobs.preview",
  "workspaces.list",
  "workspaces.create",
  "tokens.list",
  "tokens.create",
  "session.start",
  "session.end",
  "system.live",
  "system.ready"
]

/** What `{id}` names, by the first part of an operation's id. */
const kinds: Readonly<Record<string, string>> = {
  agents: "agent",
  cronJobs: "cronJob",
  connectors: "connector",
  chat: "conversation",
  memory: "memory",
  runs: "run",
  approvals: "approval",
  workspaces: "workspace",
  providerKeys: "providerKey",
  tokens: "token"
}
const kindOf = ({ id }: Operation): string => kinds[id.split(".")[0] ?? ""] ?? ""

const sees = {
  workspaceId: [403, "forbidden", "workspaceId: you are not a member of this workspace"],
  reference: [400, "invalid_input", "does not exist in this workspace"],
  path: [404, "not_found", "not found"]
} as const

const expectedOf = (idField: string) => {
  const [where, name] = idField.split(" ")
  return where === "path" ? sees.path : name === "workspaceId" ? sees.workspaceId : sees.reference
}

/** What an id field of the name means: `connectorIds` are connectors, `id` what the endpoint is about. */
const kindOfField = (operation: Operation, name: string) =>
  name === "id" ? kindOf(operation) : name.replace(/^defaultP/, "p").replace(/Ids?$/, "")

/** What a tenant reads: all but the events, which come until a run is over, and what everybody is told. */
const readings = operations.filter(
  ({ id, method }) => method === "GET" && id !== "runs.events" && !id.startsWith("system.")
)

const makeWorld = Effect.gen(function* () {
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
    const approval = yield* makeApproval(workspaceId)
    const run = yield* makeRun(workspaceId, { id: `run_${workspaceId}` as RunId })
    const ids: Readonly<Record<string, string>> = {
      workspace: workspaceId,
      project: projectId,
      user: user.id,
      run: run.id,
      approval: approval.id,
      conversation: /"conversationId":"(\w+)"/.exec(chat.text)?.[1] ?? "",
      agent: yield* create("/api/agents", { name: "a" }),
      cronJob: yield* create("/api/cron-jobs", { name: "c", schedule: "@daily", prompt: "p" }),
      connector: yield* create("/api/connectors", { type: "custom" }),
      memory: yield* create("/api/chat/memory", { key: "k", value: "v" }),
      providerKey: yield* create("/api/provider-keys", { name: "k", provider: "offline", model: "m" }),
      token: yield* create("/api/tokens", { name: "other" })
    }
    return { token, ids }
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

type World = Effect.Success<typeof makeWorld>

/** A valid request of mine in every other respect, with `replaced` in one id field. */
const request = ({ mine, send }: World, operation: Operation, idField: string, replaced: string) => {
  const [where, name = ""] = idField.split(" ")
  const valueAt = (place: string, field: string) =>
    place === where && field === name ? replaced : (mine.ids[kindOfField(operation, field)] ?? "")
  const path = operation.path.replace(/\{(\w+)\}/g, (_, field) => encodeURIComponent(valueAt("path", field)))
  const query = new URLSearchParams()
  const json: Json = { ...bodies[operation.id] }
  for (const own of operation.ids) {
    const [place, field = ""] = own.split(" ")
    const isNeeded = own === idField || field === "workspaceId"
    if (place === "query" && isNeeded) query.set(field, valueAt("query", field))
    if (place === "body" && isNeeded) {
      json[field] = field.endsWith("Ids") ? [valueAt("body", field)] : valueAt("body", field)
    }
  }
  return send(operation.method, `${path}?${query}`, {
    token: mine.token,
    ...(operation.id in bodies && { json })
  })
}

describe("tenancy", () => {
  it("these tables know every endpoint", () => {
    const changing = operations.filter(({ method }) => method === "POST" || method === "PATCH")
    assert.sameMembers(
      changing.map(({ id }) => id),
      Object.keys(bodies)
    )
    assert.sameMembers(
      operations.filter(({ ids }) => ids.length === 0).map(({ id }) => id),
      withoutIds
    )
    for (const operation of operations) {
      if (operation.ids.includes("path id")) assert.notStrictEqual(kindOf(operation), "", operation.id)
    }
  })

  for (const operation of operations.filter(({ ids }) => ids.length > 0)) {
    it.effect(`${operation.id} tells nothing of another tenant, and changes nothing of it`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld
        const before = yield* Effect.forEach([world.other, world.mine], world.snapshot)
        for (const idField of operation.ids) {
          const kind = kindOfField(operation, idField.split(" ")[1] ?? "")
          const foreign = world.other.ids[kind] ?? ""
          assert.notStrictEqual(foreign, "", `no ${kind} of another tenant`)
          // Of the same form, so that only its absence can make a difference.
          const absent = `${foreign.slice(0, -4)}zzzz`
          const [status, code, sentence] = expectedOf(idField)
          const refused = yield* Effect.forEach([foreign, absent], (id) =>
            request(world, operation, idField, id)
          )
          for (const answer of refused) {
            assert.strictEqual(answer.status, status, `${idField} ${answer.text}`)
            assert.strictEqual(answer.headers.get("x-error-code"), code)
            assert.include((answer.body as { error: string }).error, sentence)
          }
          const [ofForeign, ofAbsent] = refused.map(({ headers, text }) => ({
            text,
            headers: Array.from(headers).filter(([name]) => name !== "x-request-id")
          }))
          assert.deepStrictEqual(ofForeign, ofAbsent, idField)
        }
        assert.deepStrictEqual(yield* Effect.forEach([world.other, world.mine], world.snapshot), before)
      }).pipe(Effect.provide(layerOffline()))
    )

    it.effect(`${operation.id} works with ids of one's own`, () =>
      Effect.gen(function* () {
        const world = yield* makeWorld
        // The events of a run come until it is over.
        if (operation.id === "runs.events") {
          yield* world.send("POST", `/api/runs/${world.mine.ids.run}/cancel`, { token: world.mine.token })
        }
        for (const idField of operation.ids.toReversed()) {
          const kind = kindOfField(operation, idField.split(" ")[1] ?? "")
          // These need another user, and have a test of their own below.
          if (operation.id === "workspaces.removeMember" || operation.id === "workspaces.addMember") continue
          const answer = yield* request(world, operation, idField, world.mine.ids[kind] ?? "")
          assert.isBelow(answer.status, 300, `${idField} ${answer.text}`)
        }
      }).pipe(Effect.provide(layerOffline()))
    )
  }

  it.effect("a member who is added sees the workspace, and no longer once removed", () =>
    Effect.gen(function* () {
      const { mine, other, send } = yield* makeWorld
      const members = `/api/workspaces/${mine.ids.workspace}/members`
      const agents = `/api/agents?workspaceId=${mine.ids.workspace}`
      const email = `${other.ids.user}@example.org`
      const statuses = Effect.fnUntraced(function* () {
        const list = yield* send("GET", agents, { token: other.token })
        const one = yield* send("GET", `/api/agents/${mine.ids.agent}`, { token: other.token })
        return [list.status, one.status]
      })
      assert.deepStrictEqual(yield* statuses(), [403, 404])
      assert.strictEqual((yield* send("POST", members, { token: mine.token, json: { email } })).status, 201)
      assert.deepStrictEqual(yield* statuses(), [200, 200])
      const removal = yield* send("DELETE", `${members}/${other.ids.user}`, { token: mine.token })
      assert.strictEqual(removal.status, 200)
      assert.deepStrictEqual(yield* statuses(), [403, 404])
    }).pipe(Effect.provide(layerOffline()))
  )
})
