import type * as McpSchema from "effect/ai/McpSchema"
import * as Schema from "effect/Schema"
import { AutonomyLevel } from "../../../../Schemas/Autonomy.ts"
import {
  AgentId,
  ConversationId,
  ProjectId,
  ProviderKeyId,
  RunId,
  WorkspaceId
} from "../../../../Schemas/Ids.ts"
import { MemoryCategory, MemoryKey, MemoryValue } from "../../../../Schemas/MemoryEntry.ts"
import { CreateTask, RunStatus } from "../../../../Schemas/Run.ts"
import { text } from "../../../../Schemas/Text.ts"
import * as Results from "./Results.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(described(schema, description))

const whole = (minimum: number, maximum: number) =>
  Schema.Int.check(
    Schema.isBetween({ minimum, maximum }, { expected: `a whole number from ${minimum} to ${maximum}` })
  )

const workspaceId = optional(
  WorkspaceId,
  "The workspace; not needed where the token has only one, or the header X-Workspace-Id names it"
)
const projectId = optional(ProjectId, "A project of the workspace")
const autonomyLevel = optional(
  AutonomyLevel,
  "autonomous never asks people, semi-autonomous (the default) before tools that change something, supervised before every tool"
)
const waitSeconds = optional(
  whole(0, 60),
  "Answer when the run is over, or after so many seconds; 0 does not wait"
)
const runId = described(RunId, "The id of a run, run_…")

/** What the tools take. Unknown members are passed over, as everywhere. */
export const inputs = {
  send_task: Schema.Struct({
    prompt: described(CreateTask.fields.prompt, "What is to be done, in words"),
    agentId: optional(AgentId, "The agent that does it, agent_…; without one the default model does"),
    workspaceId,
    projectId,
    autonomyLevel,
    providerKeyId: optional(ProviderKeyId, "The provider key whose model answers"),
    connectorIds: CreateTask.fields.connectorIds,
    runAt: CreateTask.fields.runAt,
    waitSeconds
  }),
  get_run: Schema.Struct({ runId, waitSeconds }),
  cancel_run: Schema.Struct({ runId }),
  list_runs: Schema.Struct({
    workspaceId,
    projectId,
    agentId: optional(AgentId, "Only those of this agent"),
    status: optional(RunStatus, "Only those of this status"),
    limit: optional(whole(1, 100), "How many, 20 if it is not said"),
    cursor: optional(text(1, 2_048), "nextCursor of the page before")
  }),
  chat: Schema.Struct({
    message: described(text(1, 100_000), "What is said to the agent"),
    conversationId: optional(
      ConversationId,
      "The conversation that goes on, conv_…; without one a new one begins"
    ),
    agentId: optional(
      AgentId,
      "The agent of a new conversation, agent_…; without one the default model answers"
    ),
    workspaceId,
    projectId,
    autonomyLevel
  }),
  remember: Schema.Struct({
    key: described(MemoryKey, "Under which key"),
    value: described(MemoryValue, "What is kept; it replaces what was there"),
    category: optional(MemoryCategory, "general, if a new entry has no other"),
    workspaceId,
    projectId
  }),
  recall: Schema.Struct({
    query: optional(MemoryValue, "What key, value or category contain; all without one"),
    limit: optional(whole(1, 50), "How many, 50 if it is not said"),
    workspaceId,
    projectId
  })
} as const

/** What the tool of an agent takes. */
export const agentInput = Schema.Struct({
  prompt: described(CreateTask.fields.prompt, "What the agent is to do, in words"),
  autonomyLevel
})

export type ToolName = keyof typeof inputs

/** A tool as it is listed, but for what only some versions have. */
export type Definition = Omit<McpSchema.Tool, "_meta" | "icons" | "execution"> & {
  /** Whether a call may be made a task of the protocol. */
  readonly isTask: boolean
}

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
const writes = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }
/** What an agent does with the connectors of its workspace reaches as far as they do. */
const acts = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

const define = (
  name: ToolName,
  title: string,
  description: string,
  outputSchema: McpSchema.ToolJson,
  annotations: typeof reads,
  isTask = false
): Definition => ({
  name,
  title,
  description,
  inputSchema: Results.objectSchema(inputs[name]),
  outputSchema,
  annotations,
  isTask
})

/** The tools that every caller has (CONTRACT.md section 14). */
export const definitions: ReadonlyArray<Definition> = [
  define(
    "send_task",
    "Send a task",
    "Gives an agent a task and answers its run at once, PENDING: get_run tells what becomes of it. With waitSeconds it waits for that.",
    Results.runSchema,
    acts,
    true
  ),
  define(
    "get_run",
    "Look at a run",
    "Tells the status of a run and, once it is COMPLETED, its output; FAILED, why. With waitSeconds it waits for the end.",
    Results.runSchema,
    reads
  ),
  define(
    "cancel_run",
    "Cancel a run",
    "Ends a run that is not over; one that is over is an error.",
    Results.runSchema,
    writes
  ),
  define(
    "list_runs",
    "List runs",
    "Lists the runs of a workspace, the newest first. Texts are cut to 1,000 characters: get_run has all.",
    Results.listSchema,
    reads
  ),
  define(
    "chat",
    "Chat with an agent",
    "Says something to an agent in a conversation that is kept, and answers its reply. The conversationId in the answer goes on with it.",
    Results.replySchema,
    acts
  ),
  define(
    "remember",
    "Remember",
    "Keeps a value under a key in the memory that the agents of a workspace share, replacing what was there.",
    Results.rememberedSchema,
    writes
  ),
  define(
    "recall",
    "Recall",
    "Finds what is in the memory that the agents of a workspace share, the latest first.",
    Results.recalledSchema,
    reads
  )
]

const agentSchema = Results.objectSchema(agentInput)

/** An agent as a tool. */
export const agentDefinition = (agent: {
  readonly tool: string
  readonly name: string
  readonly description: string | null
}): Definition => ({
  name: agent.tool,
  title: agent.name,
  description:
    (agent.description ?? "").trim() === ""
      ? `The agent ${agent.name}: does what it is told, and answers when it is done.`
      : (agent.description ?? ""),
  inputSchema: agentSchema,
  outputSchema: Results.runSchema,
  annotations: acts,
  isTask: true
})

/** A tool as the version of a client lists it. */
export const definitionFor = (version: string, { isTask, ...tool }: Definition) => ({
  ...tool,
  ...(version === "2025-11-25" && isTask && { execution: { taskSupport: "optional" } })
})
