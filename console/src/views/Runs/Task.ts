import { AgentId, ProjectId, ProviderKeyId, type WorkspaceId } from "../../../../src/Schemas/Ids.ts"
import type { CreateTask } from "../../../../src/Schemas/Run.ts"

/** What somebody has written of a task, as the fields hold it: an empty text says nothing. */
export interface Draft {
  readonly prompt: string
  readonly agentId: string
  readonly projectId: string
  readonly providerKeyId: string
  readonly model: string
  readonly autonomyLevel: string
  /** Null: all that there are. */
  readonly connectorIds: ReadonlyArray<string> | null
  /** A date and time on one's own clock, as a field of a browser has it. */
  readonly runAt: string
}

export const emptyDraft: Draft = {
  prompt: "",
  agentId: "",
  projectId: "",
  providerKeyId: "",
  model: "",
  autonomyLevel: "",
  connectorIds: null,
  runAt: ""
}

const levels = ["supervised", "semi-autonomous", "autonomous"] as const

export const taskOf = (draft: Draft, workspaceId: WorkspaceId): CreateTask => {
  const level = levels.find((each) => each === draft.autonomyLevel)
  const model = draft.model.trim()
  return {
    workspaceId,
    prompt: draft.prompt,
    ...(draft.agentId !== "" && { agentId: AgentId.make(draft.agentId) }),
    ...(draft.projectId !== "" && { projectId: ProjectId.make(draft.projectId) }),
    ...(draft.providerKeyId !== "" && { providerKeyId: ProviderKeyId.make(draft.providerKeyId) }),
    ...(model !== "" && { selectedModel: model }),
    ...(level !== undefined && { autonomyLevel: level }),
    ...(draft.connectorIds !== null && { connectorIds: draft.connectorIds }),
    ...(draft.runAt !== "" && { runAt: new Date(draft.runAt) })
  }
}

const mostPrompt = 10_000
const mostModel = 200

/** Why it can't be sent as it is, before the service is asked. */
export const draftProblem = ({ model, prompt, runAt }: Draft): string | undefined => {
  const length = Array.from(prompt).length
  if (prompt.trim() === "") return "prompt: must say what is to be done"
  if (length > mostPrompt) return `prompt: must be at most ${mostPrompt} characters, and has ${length}`
  if (model.trim().length > mostModel) return `selectedModel: must be at most ${mostModel} characters`
  return runAt !== "" && Number.isNaN(new Date(runAt).getTime())
    ? "runAt: must be a date and a time"
    : undefined
}
