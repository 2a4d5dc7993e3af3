import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentId, ProjectId, ProviderKeyId, WorkspaceId } from "./Ids.ts"
import { Policy } from "./Policy.ts"
import { ProviderKeySummary } from "./ProviderKey.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

const name = text(1, 100)
const description = text(0, 500)
const systemPrompt = text(0, 10_000)

export const Agent = Schema.Struct({
  id: AgentId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  systemPrompt: Schema.NullOr(Schema.String),
  isActive: Schema.Boolean,
  providerKeyId: Schema.NullOr(ProviderKeyId),
  providerKey: Schema.NullOr(ProviderKeySummary),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Agent" })
export type Agent = typeof Agent.Type

/** An agent as work is made for it; the policy is null where it says nothing. */
export const StoredAgent = Schema.Struct({ ...Agent.fields, policy: Schema.NullOr(Policy) })
export type StoredAgent = typeof StoredAgent.Type

export const toAgent = ({ policy: _, ...agent }: StoredAgent): Agent => agent

export const CreateAgent = Schema.Struct({
  workspaceId: WorkspaceId,
  name,
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  description: Schema.optionalKey(Schema.NullOr(description)),
  systemPrompt: Schema.optionalKey(Schema.NullOr(systemPrompt)),
  providerKeyId: Schema.optionalKey(Schema.NullOr(ProviderKeyId))
}).annotate({ identifier: "CreateAgent" })
export type CreateAgent = typeof CreateAgent.Type

/** Specification, PATCH /api/agents/{id}: an absent field stays, `null` clears a nullable one. */
export const UpdateAgent = Schema.Struct({
  name: Schema.optionalKey(name),
  description: Schema.optionalKey(Schema.NullOr(description)),
  systemPrompt: Schema.optionalKey(Schema.NullOr(systemPrompt)),
  providerKeyId: Schema.optionalKey(Schema.NullOr(ProviderKeyId)),
  isActive: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateAgent" })
export type UpdateAgent = typeof UpdateAgent.Type

/** What other resources show of an agent. */
export const AgentReference = Schema.Struct({ id: AgentId, name: Schema.String }).annotate({
  identifier: "AgentReference"
})
export type AgentReference = typeof AgentReference.Type

/** 409: work sent to an agent that is switched off. */
export class AgentInactive extends Schema.TaggedError<AgentInactive>()("AgentInactive", {
  error: Schema.String
}) {}

/** Refuses work for an agent that is switched off (CONTRACT.md section 2, `agent_inactive`). */
export const requireActive = (agent: Agent | null): Result.Result<void, AgentInactive> =>
  agent === null || agent.isActive
    ? Result.void
    : Result.fail(new AgentInactive({ error: "agentId: this agent is not active" }))
