import { place } from "../../src/Layers/Http/Faces/Mcp/Places.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"

/** A request through a face, but for who sends it. */
export interface FaceRequest {
  readonly method: string
  readonly path: string
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A way to name something in a request through a face that the contract does not show. */
export interface Naming {
  readonly name: string
  /** What is named: one of the ids of a tenant. */
  readonly kind: string
  readonly request: (id: string) => FaceRequest
  /** What is answered of one's own and of another's alike: nothing is told of either. */
  readonly tellsNothing?: true
  /** Of one's own it would wait for what is not over. */
  readonly isOfEnded?: true
  /** Of one's own it waits for work that nobody does here. */
  readonly isWaiting?: true
}

const inWorkspace = (workspaceId: string) => ({ "x-workspace-id": workspaceId })

const completion = (model: string, headers: Readonly<Record<string, string>> = {}): FaceRequest => ({
  method: "POST",
  path: "/v1/chat/completions",
  json: { model, messages: [{ role: "user", content: "hello" }] },
  headers
})

const response = (json: object, headers: Readonly<Record<string, string>> = {}): FaceRequest => ({
  method: "POST",
  path: "/v1/responses",
  json: { model: "default", input: "hello", ...json },
  headers
})

const openAi: ReadonlyArray<Naming> = [
  ...["GET /v1/models", "GET /v1/models/default"].map((name): Naming => {
    const [method = "", path = ""] = name.split(" ")
    return {
      name: `${name}, X-Workspace-Id`,
      kind: "workspace",
      request: (id) => ({ method, path, headers: inWorkspace(id) })
    }
  }),
  {
    name: "chat completions, X-Workspace-Id",
    kind: "workspace",
    request: (id) => completion("default", inWorkspace(id))
  },
  {
    name: "responses, X-Workspace-Id",
    kind: "workspace",
    request: (id) => response({}, inWorkspace(id))
  },
  ...Object.entries({
    agent: (id: string) => id,
    workspace: (id: string) => `${id}/default`,
    agentName: (id: string) => id
  }).flatMap(
    ([kind, modelOf]): ReadonlyArray<Naming> => [
      {
        name: `GET /v1/models/{model}, ${kind}`,
        kind,
        request: (id) => ({ method: "GET", path: `/v1/models/${encodeURIComponent(modelOf(id))}` })
      },
      { name: `chat completions, model of ${kind}`, kind, request: (id) => completion(modelOf(id)) },
      { name: `responses, model of ${kind}`, kind, request: (id) => response({ model: modelOf(id) }) }
    ]
  ),
  {
    name: "responses, previous_response_id",
    kind: "response",
    request: (id) => response({ previous_response_id: id })
  },
  {
    name: "responses, conversation",
    kind: "conversation",
    request: (id) => response({ conversation: id })
  },
  {
    name: "responses, conversation in background",
    kind: "conversation",
    request: (id) => response({ conversation: { id }, background: true })
  },
  {
    name: "responses, a stream of them",
    kind: "response",
    request: (id) => ({ method: "GET", path: `/v1/responses/${id}?stream=true&starting_after=0` })
  }
]

const uiSend = (json: object, agent = "default", headers: Readonly<Record<string, string>> = {}) => ({
  method: "POST",
  path: `/api/ui/${agent}/chat`,
  json: {
    id: "chat-1",
    trigger: "submit-message",
    messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hello" }] }],
    ...json
  },
  headers
})

const ui: ReadonlyArray<Naming> = [
  {
    name: "UI stream, X-Workspace-Id",
    kind: "workspace",
    request: (id) => uiSend({}, "default", inWorkspace(id))
  },
  { name: "UI stream, the agent's id", kind: "agent", request: (id) => uiSend({}, id) },
  { name: "UI stream, the agent's name", kind: "agentName", request: (id) => uiSend({}, id) },
  { name: "UI stream, the id of a conversation", kind: "conversation", request: (id) => uiSend({ id }) },
  ...["/stream", "", "/stop"].map(
    (path): Naming => ({
      name: `UI chats${path}, the id of a conversation`,
      kind: "conversation",
      request: (id) => ({
        method: path === "/stop" ? "POST" : "GET",
        path: `/api/ui/default/chat/${id}${path}`,
        ...(path === "/stop" && { json: {} })
      })
    })
  )
]

const accept = "application/json, text/event-stream"
const versions = ["2025-03-26", "2025-06-18", "2025-11-25"] as const

/** A request of MCP as a client of that version sends it. */
export const mcp = (
  method: string,
  params: object,
  {
    headers = {},
    version = "2025-11-25"
  }: { readonly version?: string; readonly headers?: Readonly<Record<string, string>> } = {}
): FaceRequest => ({
  method: "POST",
  path: "/mcp",
  json: { jsonrpc: "2.0", id: 1, method, params },
  headers: { accept, "mcp-protocol-version": version, ...headers }
})

/** The same of the version without sessions, which says it in each request. */
const modernMcp = (method: string, params: { readonly taskId: string }): FaceRequest => {
  const version = "2026-07-28"
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } }
  }
  const named = { "mcp-method": method, "mcp-name": params.taskId }
  return mcp(method, { ...params, _meta: meta }, { version, headers: named })
}

const call = (name: string, given: object, headers: Readonly<Record<string, string>> = {}) =>
  mcp("tools/call", { name, arguments: given }, { headers })

const calls: Readonly<Record<string, object>> = {
  send_task: { prompt: "p" },
  list_runs: {},
  chat: { message: "hello" },
  remember: { key: "k", value: "changed" },
  recall: {}
}

const places = Object.entries(calls).flatMap(
  ([tool, given]): ReadonlyArray<Naming> => [
    {
      name: `MCP ${tool}, X-Workspace-Id`,
      kind: "workspace",
      request: (id) => call(tool, given, inWorkspace(id))
    },
    {
      name: `MCP ${tool}, workspaceId`,
      kind: "workspace",
      request: (id) => call(tool, { ...given, workspaceId: id })
    },
    {
      name: `MCP ${tool}, projectId`,
      kind: "project",
      request: (id) => call(tool, { ...given, projectId: id })
    }
  ]
)

const of = (name: string, kind: string, request: Naming["request"], more: Partial<Naming> = {}): Naming => ({
  name: `MCP ${name}`,
  kind,
  request,
  ...more
})

const mcpNamings: ReadonlyArray<Naming> = [
  of("tools/list, X-Workspace-Id", "workspace", (id) => mcp("tools/list", {}, { headers: inWorkspace(id) })),
  ...places,
  of("send_task, agentId", "agent", (id) => call("send_task", { prompt: "p", agentId: id })),
  of("send_task, providerKeyId", "providerKey", (id) =>
    call("send_task", { prompt: "p", providerKeyId: id })
  ),
  of("send_task, connectorIds", "connector", (id) => call("send_task", { prompt: "p", connectorIds: [id] })),
  of("list_runs, agentId", "agent", (id) => call("list_runs", { agentId: id })),
  of("chat, agentId", "agent", (id) => call("chat", { message: "hello", agentId: id })),
  of("chat, conversationId", "conversation", (id) => call("chat", { message: "hello", conversationId: id })),
  of("the tool of an agent", "agentTool", (id) => call(id, { prompt: "p" }), { isWaiting: true }),
  of("the tool of an agent as a task", "agentTool", (id) =>
    mcp("tools/call", { name: id, arguments: { prompt: "p" }, task: {} })
  ),
  ...versions.map((version) =>
    of(`get_run, ${version}`, "run", (id) =>
      mcp("tools/call", { name: "get_run", arguments: { runId: id } }, { version })
    )
  ),
  of("cancel_run", "run", (id) => call("cancel_run", { runId: id })),
  ...["tasks/get", "tasks/cancel"].flatMap((method) => [
    of(method, "run", (id) => mcp(method, { taskId: id })),
    of(`${method}, 2026-07-28`, "run", (id) => modernMcp(method, { taskId: id }))
  ]),
  of("tasks/result", "run", (id) => mcp("tasks/result", { taskId: id }), { isOfEnded: true }),
  of(
    "a decision on what waits",
    "approval",
    (id) => ({
      method: "POST",
      path: "/mcp",
      headers: { accept, "mcp-protocol-version": "2025-11-25" },
      json: { jsonrpc: "2.0", id, result: { action: "accept", content: { decision: "reject" } } }
    }),
    { tellsNothing: true }
  ),
  of(
    "going on with a stream",
    "run",
    (id) => ({
      method: "GET",
      path: "/mcp",
      headers: {
        accept,
        "mcp-protocol-version": "2025-11-25",
        "last-event-id": place.write({ runId: id as RunId, kind: "task", after: 0, rpcId: 1, ofTask: false })
      }
    }),
    { isOfEnded: true }
  )
]

/** Every way to name something that the endpoints of the contract don't show, in each face. */
export const namings: ReadonlyArray<Naming> = [...openAi, ...ui, ...mcpNamings]
