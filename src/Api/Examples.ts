import type * as Schema from "effect/Schema"
import { faceExamples } from "./FaceExamples.ts"

/** A JSON Schema, as far as examples are made from it. */
export interface ExampleSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<Schema.Json>
  readonly anyOf?: ReadonlyArray<ExampleSchema>
  readonly items?: ExampleSchema
  readonly properties?: Readonly<Record<string, ExampleSchema>>
}

const at = "2026-11-22T08:00:00.000Z"
const later = "2026-11-22T08:00:04.213Z"

/** What fields hold in examples, by the name of their component and their own, or by their own name alone. */
const values: Readonly<Record<string, Schema.Json>> = {
  id: "agent_01m7zt5r3p8v4kq2n6w9x1y0zb",
  userId: "user_01m7zt5r3p8v4kq2n6w9x1y0za",
  workspaceId: "ws_01m7zt5r3p8v4kq2n6w9x1y0zc",
  projectId: null,
  agentId: "agent_01m7zt5r3p8v4kq2n6w9x1y0zb",
  agent: { id: "agent_01m7zt5r3p8v4kq2n6w9x1y0zb", name: "Researcher" },
  providerKeyId: null,
  providerKey: null,
  defaultProviderKeyId: null,
  conversationId: "conv_01m7zt5r3p8v4kq2n6w9x1y0zd",
  cronJobId: null,
  runId: "run_01m7zt5r3p8v4kq2n6w9x1y0ze",
  toolCallId: "call_01m7zt5r3p8v4kq2n6w9x1y0zf",
  tokenId: "token_01m7zt5r3p8v4kq2n6w9x1y0zq",
  createdAt: at,
  updatedAt: at,
  expiresAt: "2027-02-20T08:00:00.000Z",
  expiresInDays: 90,
  scheduledAt: at,
  firedAt: "2026-11-22T08:00:00.041Z",
  startedAt: "2026-11-22T08:00:00.036Z",
  firstTokenAt: "2026-11-22T08:00:00.702Z",
  finishedAt: later,
  decidedAt: null,
  decidedBy: null,
  reason: null,
  email: "ada@example.com",
  role: "member",
  plan: "free",
  description: "Finds out and sums up",
  systemPrompt: "You answer in three sentences and name your sources.",
  isActive: true,
  isMember: true,
  isPending: false,
  key: "answer_language",
  value: "German",
  category: "preference",
  title: "What happened in the night?",
  content: "What happened in the night?",
  prompt: "Sum up what happened in the night.",
  output: null,
  status: "COMPLETED",
  autonomyLevel: "semi-autonomous",
  connectorIds: ["conn_01m7zt5r3p8v4kq2n6w9x1y0zg"],
  error: null,
  attempts: 1,
  steps: [
    {
      index: 0,
      type: "model",
      text: "Nothing happened in the night.",
      toolCalls: [],
      usage: { inputTokens: 412, outputTokens: 9 }
    }
  ],
  inputTokens: 412,
  outputTokens: 9,
  total: 1,
  schedule: "0 7 * * 1-5",
  timezone: "Europe/Berlin",
  after: at,
  count: 5,
  outcome: "fired",
  from: "2026-11-15T00:00:00.000Z",
  to: at,
  only: "missed",
  slots: 20,
  waiting: 12,
  next: "2026-11-18T16:00:00.000Z",
  lagMs: 41,
  success: true,
  tool: "docs__write",
  connector: { id: "conn_01m7zt5r3p8v4kq2n6w9x1y0zg", name: "docs" },
  address: "https://mcp.example.com/mcp",
  "Approval.description": "Writes a page",
  arguments: { page: "night", text: "Nothing happened." },
  decision: "approve",
  type: "mcp",
  providerId: null,
  providerName: "docs",
  grantedScopes: [],
  hasCredential: true,
  metadata: { url: "https://mcp.example.com/mcp", credential: "the token of that server" },
  checkedAt: at,
  serverName: "docs",
  serverVersion: "2.4.0",
  protocolVersion: "2025-11-25",
  "ConnectorHealth.status": "ACTIVE",
  "ConnectorTools.status": "ACTIVE",
  "ConnectorTool.name": "docs__write",
  "ConnectorTool.description": "Writes a page",
  originalName: "write",
  readOnly: false,
  destructive: false,
  inputSchema: {
    type: "object",
    properties: { page: { type: "string" }, text: { type: "string" } },
    required: ["page", "text"]
  },
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  selectedProvider: "anthropic",
  selectedModel: "claude-sonnet-4-5",
  maxOutputTokens: null,
  pricing: { inputPerMillion: 1.25, cachedInputPerMillion: 0.125, outputPerMillion: 10 },
  inputPerMillion: 1.25,
  cachedInputPerMillion: 0.125,
  outputPerMillion: 10,
  "UsageRow.key": "2026-11-22",
  "UsageRow.runs": 3,
  "UsageRow.turns": 1,
  modelCalls: 5,
  toolCalls: 2,
  cachedInputTokens: 256,
  costUsd: 0.003245,
  apiKey: "the key of that provider",
  baseUrl: null,
  hasApiKey: true,
  "BudgetUsage.month": "2026-11",
  "BudgetUsage.monthlyUsd": { used: 12.5, reserved: 0.04, lost: 0, limit: 50 },
  "BudgetUsage.monthlyTokens": { used: 1_250_000, reserved: 4_096, lost: 0, limit: null },
  "QuotaUsage.used": 12,
  "QuotaUsage.limit": 1000,
  "Agent.name": "Researcher",
  "CreateAgent.name": "Researcher",
  "UpdateAgent.name": "Researcher",
  "AgentReference.name": "Researcher",
  "AuditEntry.id": "audit_01m7zt5r3p8v4kq2n6w9x1y0zs",
  "AuditEntry.at": at,
  "AuditEntry.actor": {
    userId: "user_01m7zt5r3p8v4kq2n6w9x1y0za",
    tokenId: "token_01m7zt5r3p8v4kq2n6w9x1y0zq"
  },
  "AuditEntry.action": "agent.update",
  "AuditEntry.targetId": "agent_01m7zt5r3p8v4kq2n6w9x1y0zb",
  "AuditEntry.requestId": "req_01m7zt5r3p8v4kq2n6w9x1y0zt",
  "AuditEntry.address": "192.0.2.7",
  "SignInByLink.code": "m0H4cbnF0c1iYRNSv0g9WJzD3wq8y6pXkT2uLrE5aVo",
  "RunTimeline.executions": [{ epoch: 1, startedAt: "2026-11-22T08:00:00.036Z", cause: "start" }],
  "RunTimeline.spans": [
    { type: "queued", startedAt: at, endedAt: "2026-11-22T08:00:00.036Z", epoch: 1, cause: "start" },
    {
      type: "model",
      startedAt: "2026-11-22T08:00:00.036Z",
      endedAt: "2026-11-22T08:00:04.209Z",
      index: 0,
      epoch: 1,
      inputTokens: 412,
      cachedInputTokens: 256,
      outputTokens: 9,
      costUsd: 0.003245,
      provider: "openai",
      model: "gpt-5",
      truncated: null
    }
  ],
  "Approval.id": "approval_01m7zt5r3p8v4kq2n6w9x1y0zh",
  "Approval.status": "PENDING",
  "Connector.id": "conn_01m7zt5r3p8v4kq2n6w9x1y0zg",
  "Connector.status": "ACTIVE",
  "UpdateConnector.status": "INACTIVE",
  "Conversation.id": "conv_01m7zt5r3p8v4kq2n6w9x1y0zd",
  "CronJob.id": "cron_01m7zt5r3p8v4kq2n6w9x1y0zj",
  "CronJob.name": "Morning report",
  "CreateCronJob.name": "Morning report",
  "UpdateCronJob.name": "Morning report",
  "Message.id": "msg_01m7zt5r3p8v4kq2n6w9x1y0zk",
  "Message.role": "USER",
  "MemoryEntry.id": "mem_01m7zt5r3p8v4kq2n6w9x1y0zm",
  "Policy.maxSteps": 20,
  "Policy.maxSeconds": 600,
  "PutPolicy.maxSteps": 20,
  "PutPolicy.maxSeconds": 600,
  "ToolRule.match": "remember",
  "ToolRule.rule": "allow",
  "Project.id": "proj_01m7zt5r3p8v4kq2n6w9x1y0zn",
  "Project.name": "Website",
  "CreateProject.name": "Website",
  "ProviderKey.id": "pkey_01m7zt5r3p8v4kq2n6w9x1y0zp",
  "ProviderKey.name": "Anthropic",
  "CreateProviderKey.name": "Anthropic",
  messageId: "msg_01m7zt5r3p8v4kq2n6w9x1y0zk",
  turnId: "turn_01m7zt5r3p8v4kq2n6w9x1y0zr",
  created: true,
  unavailableConnectors: [{ id: "conn_01m7zt5r3p8v4kq2n6w9x1y0zg", name: "docs" }],
  delta: "Nothing happened",
  isError: false,
  durationMs: 2,
  "ToolCallEventData.id": "call_01m7zt5r3p8v4kq2n6w9x1y0zf",
  "ToolCallEventData.name": "docs__write",
  "ToolResultEventData.id": "call_01m7zt5r3p8v4kq2n6w9x1y0zf",
  "ToolResultEventData.name": "docs__write",
  "ToolResultEventData.result": { written: true },
  "DoneEventData.message": {
    id: "msg_01m7zt5r3p8v4kq2n6w9x1y0zk",
    role: "ASSISTANT",
    content: "Nothing happened in the night.",
    createdAt: later
  },
  "ErrorEventData.error": "the answer was cancelled",
  "ErrorEventData.code": "cancelled",
  "TaskDoneEventData.output": "Nothing happened in the night.",
  "Run.id": "run_01m7zt5r3p8v4kq2n6w9x1y0ze",
  "Run.status": "PENDING",
  "RunDetail.id": "run_01m7zt5r3p8v4kq2n6w9x1y0ze",
  "RunDetail.output": "Nothing happened in the night.",
  "RunDetail.updatedAt": later,
  "Token.id": "token_01m7zt5r3p8v4kq2n6w9x1y0zq",
  "Token.name": "laptop",
  "NewToken.id": "token_01m7zt5r3p8v4kq2n6w9x1y0zq",
  "NewToken.name": "laptop",
  "NewToken.token": "agentd_the-token-which-is-shown-this-once",
  "CreateToken.name": "laptop",
  "Webhook.id": "wh_01m7zt5r3p8v4kq2n6w9x1y0zs",
  "Webhook.url": "https://hooks.example.org/agentd",
  "Webhook.events": ["run.failed", "run.waiting_approval"],
  "Webhook.description": "Tells the newsroom",
  "NewWebhook.id": "wh_01m7zt5r3p8v4kq2n6w9x1y0zs",
  "NewWebhook.url": "https://hooks.example.org/agentd",
  "NewWebhook.events": ["run.failed", "run.waiting_approval"],
  "NewWebhook.secret": "whsec_dGhlIHNlY3JldCB0aGF0IGlzIHNob3duIG9uY2U=",
  "CreateWebhook.url": "https://hooks.example.org/agentd",
  "CreateWebhook.events": ["run.failed", "run.waiting_approval"],
  "WebhookDelivery.id": "dlv_01m7zt5r3p8v4kq2n6w9x1y0zt",
  webhookId: "wh_01m7zt5r3p8v4kq2n6w9x1y0zs",
  eventId: "evt_01m7zt5r3p8v4kq2n6w9x1y0zv",
  "Workspace.id": "ws_01m7zt5r3p8v4kq2n6w9x1y0zc",
  "Workspace.name": "Newsroom",
  "Workspace.role": "owner",
  "CreateWorkspace.name": "Newsroom",
  "UpdateWorkspace.name": "Newsroom"
}

const isNullable = ({ anyOf }: ExampleSchema) => anyOf?.some(({ type }) => type === "null") === true

/** The name of the component that a schema refers to. */
export const componentOf = ({ $ref }: ExampleSchema): string | undefined =>
  $ref?.slice($ref.lastIndexOf("/") + 1)

/** Where nothing is said of a field: what its schema tells by itself. */
const simplest = (schema: ExampleSchema): Schema.Json | undefined =>
  isNullable(schema) ? null : schema.enum?.[0]

/**
 * An example of what a schema describes. A field that nothing is known of is left out: a test finds it, since the
 * example does not decode then.
 */
export const makeExample = (components: Readonly<Record<string, ExampleSchema>>) => {
  const exampleOf = (schema: ExampleSchema, component?: string): Schema.Json | undefined => {
    const name = componentOf(schema)
    if (name !== undefined) return faceExamples[name] ?? exampleOf(components[name] ?? {}, name)
    if (schema.items !== undefined) {
      const item = exampleOf(schema.items)
      return item === undefined ? [] : [item]
    }
    const [first] = schema.anyOf ?? []
    if (first !== undefined && !isNullable(schema)) return exampleOf(first, component)
    if (schema.properties === undefined) return simplest(schema)
    const fields = Object.entries(schema.properties).flatMap(([name, field]) => {
      const value = values[`${component}.${name}`] ?? values[name]
      const isPossible = value !== undefined && field.enum?.includes(value) !== false
      const given = isPossible ? value : exampleOf(field)
      return given === undefined ? [] : [[name, given] as const]
    })
    return Object.fromEntries(fields)
  }
  return exampleOf
}
