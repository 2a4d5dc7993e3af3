import type { Agent } from "./Agent.ts"
import type { WorkspaceId } from "./Ids.ts"
import type { ModelChoice } from "./Inference.ts"

/** Which model answers: what the request names comes before what its agent has. */
export const modelChoice = (
  workspaceId: WorkspaceId,
  agent: Agent | null,
  wanted: {
    readonly selectedProvider?: string | null | undefined
    readonly selectedModel?: string | null | undefined
    readonly providerKeyId?: string | null | undefined
  }
): ModelChoice => ({
  workspaceId,
  provider: wanted.selectedProvider ?? null,
  model: wanted.selectedModel ?? null,
  providerKeyId: wanted.providerKeyId ?? agent?.providerKeyId ?? null
})
