/**
 * The tables of the specification and of CONTRACT.md (sections 2 to 4), written by hand: nothing here is
 * taken from `src`, so that a field which is added, dropped or renamed there shows.
 */

/** A field of a request: lengths in code points, `absent` is what an answer shows when it is not sent. */
export interface Given {
  readonly type: "text" | "id" | "boolean" | "texts" | "object" | "integer"
  readonly required?: true
  readonly nullable?: true
  readonly length?: readonly [minimum: number, maximum: number]
  readonly range?: readonly [minimum: number, maximum: number]
  readonly values?: ReadonlyArray<string>
  readonly absent?: unknown
  /** A valid value, where any text would not do. */
  readonly sample?: unknown
  /** A valid value of exactly so many code points, or null where there is none of that length. */
  readonly ofLength?: (length: number) => string | null
}

/** A field of an answer; it is always there. */
export interface Returned {
  readonly type: "string" | "boolean" | "date-time" | "strings" | Resource | readonly [Resource]
  readonly nullable?: true
  readonly values?: ReadonlyArray<string>
}

type Fields<A> = Readonly<Record<string, A>>

export interface EndpointRow {
  readonly method: "get" | "post" | "patch" | "delete"
  readonly path: string
  readonly status: 200 | 201
  readonly body?: Fields<Given>
  readonly query?: Fields<Given>
  readonly returns: "stream" | "success" | Resource | readonly [Resource] | readonly [Resource, "total"]
}

const string: Returned = { type: "string" }
const nullString: Returned = { type: "string", nullable: true }
const boolean: Returned = { type: "boolean" }
const time: Returned = { type: "date-time" }
const times = { createdAt: time, updatedAt: time }

const resourceTable = {
  Agent: {
    id: string,
    workspaceId: string,
    projectId: nullString,
    name: string,
    description: nullString,
    systemPrompt: nullString,
    isActive: boolean,
    providerKeyId: nullString,
    providerKey: { type: "ProviderKeySummary", nullable: true },
    ...times
  },
  ProviderKeySummary: { id: string, name: string, provider: string, model: string },
  AgentReference: { id: string, name: string },
  CronJob: {
    id: string,
    workspaceId: string,
    projectId: nullString,
    name: string,
    description: nullString,
    schedule: string,
    prompt: string,
    timezone: string,
    isActive: boolean,
    agentId: nullString,
    agent: { type: "AgentReference", nullable: true },
    ...times
  },
  Connector: {
    id: string,
    workspaceId: string,
    projectId: nullString,
    type: nullString,
    providerId: nullString,
    providerName: nullString,
    status: { type: "string", values: ["ACTIVE", "ERROR", "INACTIVE"] },
    grantedScopes: { type: "strings" },
    hasCredential: boolean,
    ...times
  },
  Run: {
    id: string,
    workspaceId: string,
    projectId: nullString,
    status: {
      type: "string",
      values: ["PENDING", "RUNNING", "WAITING_APPROVAL", "COMPLETED", "FAILED", "CANCELLED"]
    },
    prompt: string,
    output: nullString,
    ...times
  },
  Conversation: {
    id: string,
    workspaceId: string,
    projectId: nullString,
    title: string,
    agentId: nullString,
    agent: { type: "AgentReference", nullable: true },
    messages: { type: ["Message"] },
    updatedAt: time
  },
  Message: {
    id: string,
    role: { type: "string", values: ["USER", "ASSISTANT"] },
    content: string,
    createdAt: time
  },
  MemoryEntry: {
    id: string,
    workspaceId: string,
    projectId: nullString,
    key: string,
    value: string,
    category: string,
    ...times
  }
} as const

export type Resource = keyof typeof resourceTable
export const resources: Readonly<Record<Resource, Fields<Returned>>> = resourceTable

const text = (minimum: number, maximum: number): Given => ({ type: "text", length: [minimum, maximum] })
const required = (given: Given): Given => ({ ...given, required: true })
const nullable = (given: Given): Given => ({ ...given, nullable: true, absent: null })

const workspaceId: Given = { type: "id", required: true }
/** An id that may be left out or null. */
const reference: Given = { type: "id", nullable: true, absent: null }
const filter: Given = { type: "id" }
const schedule: Given = {
  ...text(1, 100),
  sample: "*/5 * * * *",
  // The shortest expression has 7 characters; more space between fields makes it longer.
  ofLength: (length) => (length === 100 ? `@daily${" ".repeat(length - 6)}` : null)
}
const timezone: Given = { ...text(1, 50), sample: "Europe/Berlin", ofLength: () => null }
const limit = (absent: number): Given => ({ type: "integer", range: [1, 100], absent })
const offset: Given = { type: "integer", range: [0, Number.MAX_SAFE_INTEGER], absent: 0 }
const lists = { workspaceId, projectId: filter }
const list = (path: string, resource: Resource, query: Fields<Given> = lists): EndpointRow => ({
  method: "get",
  path,
  status: 200,
  query,
  returns: [resource]
})

const agentTexts = { description: nullable(text(0, 500)), systemPrompt: nullable(text(0, 10_000)) }

/** Specification, Endpoints: all seventeen. */
export const endpoints: ReadonlyArray<EndpointRow> = [
  {
    method: "post",
    path: "/api/agents",
    status: 201,
    body: {
      workspaceId,
      name: required(text(1, 100)),
      projectId: reference,
      ...agentTexts,
      providerKeyId: reference
    },
    returns: "Agent"
  },
  list("/api/agents", "Agent"),
  { method: "get", path: "/api/agents/{id}", status: 200, returns: "Agent" },
  {
    method: "patch",
    path: "/api/agents/{id}",
    status: 200,
    body: { name: text(1, 100), ...agentTexts, providerKeyId: reference, isActive: { type: "boolean" } },
    returns: "Agent"
  },
  {
    method: "post",
    path: "/api/cron-jobs",
    status: 201,
    body: {
      workspaceId,
      name: required(text(1, 100)),
      schedule: required(schedule),
      prompt: required(text(1, 10_000)),
      projectId: reference,
      agentId: reference,
      description: nullable(text(0, 500)),
      timezone: { ...timezone, absent: "UTC" }
    },
    returns: "CronJob"
  },
  list("/api/cron-jobs", "CronJob"),
  {
    method: "patch",
    path: "/api/cron-jobs/{id}",
    status: 200,
    body: {
      name: text(1, 100),
      description: nullable(text(0, 500)),
      agentId: reference,
      schedule,
      prompt: text(1, 10_000),
      timezone,
      isActive: { type: "boolean" }
    },
    returns: "CronJob"
  },
  {
    method: "post",
    path: "/api/connectors",
    status: 201,
    body: {
      workspaceId,
      projectId: reference,
      type: { ...nullable(text(1, 100)), sample: "custom" },
      providerId: nullable(text(1, 100)),
      providerName: nullable(text(1, 100)),
      grantedScopes: { type: "texts", absent: [] },
      metadata: { type: "object" }
    },
    returns: "Connector"
  },
  list("/api/connectors", "Connector"),
  {
    method: "post",
    path: "/api/tasks",
    status: 201,
    body: {
      workspaceId,
      prompt: required(text(1, 10_000)),
      projectId: reference,
      agentId: reference,
      selectedProvider: nullable({ ...text(1, 100), sample: "offline", ofLength: () => null }),
      selectedModel: nullable(text(1, 200)),
      providerKeyId: reference,
      connectorIds: { type: "texts", sample: [] },
      autonomyLevel: { type: "text", values: ["supervised", "semi-autonomous", "autonomous"] },
      runAt: { type: "text", nullable: true, sample: "1970-01-01T00:00:00.000Z", ofLength: () => null }
    },
    returns: "Run"
  },
  {
    method: "get",
    path: "/api/runs",
    status: 200,
    query: {
      ...lists,
      status: { type: "text", values: resourceTable.Run.status.values },
      agentId: filter,
      cronJobId: filter,
      limit: limit(20),
      offset
    },
    returns: ["Run", "total"]
  },
  {
    method: "post",
    path: "/api/chat/messages",
    status: 200,
    body: {
      workspaceId,
      content: required(text(1, 100_000)),
      projectId: reference,
      conversationId: reference,
      agentId: reference,
      providerKeyId: reference,
      autonomyLevel: { type: "text", values: ["supervised", "semi-autonomous", "autonomous"] }
    },
    returns: "stream"
  },
  list("/api/chat/conversations", "Conversation", { ...lists, limit: limit(50), offset }),
  { method: "get", path: "/api/chat/conversations/{id}", status: 200, returns: "Conversation" },
  { method: "delete", path: "/api/chat/conversations/{id}", status: 200, returns: "success" },
  {
    method: "post",
    path: "/api/chat/memory",
    status: 201,
    body: {
      workspaceId,
      key: required(text(1, 255)),
      value: required(text(0, 100_000)),
      projectId: reference,
      category: { ...text(1, 100), nullable: true, absent: "general" }
    },
    returns: "MemoryEntry"
  },
  list("/api/chat/memory", "MemoryEntry", { ...lists, category: text(1, 100), key: text(1, 255) })
]

/** Specification, Events: the only names there are. */
export const chatEvents = ["conversation", "status", "tool_call", "tool_result", "done", "error"]
