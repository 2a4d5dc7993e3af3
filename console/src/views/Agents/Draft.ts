import type { Agent, CreateAgent, UpdateAgent } from "../../../../src/Schemas/Agent.ts"
import { ProjectId, ProviderKeyId, type WorkspaceId } from "../../../../src/Schemas/Ids.ts"

/** An agent as the fields of its form hold it: an empty text says nothing. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly systemPrompt: string
  readonly providerKeyId: string
  readonly projectId: string
}

export const emptyDraft: Draft = {
  name: "",
  description: "",
  systemPrompt: "",
  providerKeyId: "",
  projectId: ""
}

export const draftOf = (agent: Agent): Draft => ({
  name: agent.name,
  description: agent.description ?? "",
  systemPrompt: agent.systemPrompt ?? "",
  providerKeyId: agent.providerKeyId ?? "",
  projectId: agent.projectId ?? ""
})

const orNull = (text: string): string | null => (text.trim() === "" ? null : text)

/** Without a key there is none of it: naming one at all is an owner's. */
export const createOf = (draft: Draft, workspaceId: WorkspaceId): CreateAgent => ({
  workspaceId,
  name: draft.name,
  description: orNull(draft.description),
  systemPrompt: orNull(draft.systemPrompt),
  ...(draft.providerKeyId !== "" && { providerKeyId: ProviderKeyId.make(draft.providerKeyId) }),
  ...(draft.projectId !== "" && { projectId: ProjectId.make(draft.projectId) })
})

/** What has changed, and nothing else: what somebody else has changed meanwhile stays, and a member need not own the key. */
export const updateOf = (draft: Draft, before: Draft): UpdateAgent => {
  const isChanged = (field: keyof Draft) => draft[field] !== before[field]
  return {
    ...(isChanged("name") && { name: draft.name }),
    ...(isChanged("description") && { description: orNull(draft.description) }),
    ...(isChanged("systemPrompt") && { systemPrompt: orNull(draft.systemPrompt) }),
    ...(isChanged("providerKeyId") && {
      providerKeyId: draft.providerKeyId === "" ? null : ProviderKeyId.make(draft.providerKeyId)
    })
  }
}
