import type { CreateCronJob, CronJob, UpdateCronJob } from "../../../../src/Schemas/CronJob.ts"
import { AgentId, ProjectId, type WorkspaceId } from "../../../../src/Schemas/Ids.ts"

/** A cron job as the fields of its form hold it: an empty text says nothing. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly prompt: string
  readonly agentId: string
  readonly projectId: string
  readonly schedule: string
  readonly timezone: string
}

export const emptyDraft: Draft = {
  name: "",
  description: "",
  prompt: "",
  agentId: "",
  projectId: "",
  schedule: "",
  timezone: "UTC"
}

export const draftOf = (job: CronJob): Draft => ({
  name: job.name,
  description: job.description ?? "",
  prompt: job.prompt,
  agentId: job.agentId ?? "",
  projectId: job.projectId ?? "",
  schedule: job.schedule,
  timezone: job.timezone
})

const orNull = (text: string): string | null => (text.trim() === "" ? null : text)

export const createOf = (draft: Draft, workspaceId: WorkspaceId): CreateCronJob => ({
  workspaceId,
  name: draft.name,
  description: orNull(draft.description),
  prompt: draft.prompt,
  agentId: draft.agentId === "" ? null : AgentId.make(draft.agentId),
  ...(draft.projectId !== "" && { projectId: ProjectId.make(draft.projectId) }),
  schedule: draft.schedule.trim(),
  timezone: draft.timezone.trim()
})

/**
 * What of a job has changed, and nothing else: what somebody else has changed meanwhile stays, and a schedule that is sent
 * counts from now.
 */
export const updateOf = (draft: Draft, before: Draft): UpdateCronJob => {
  const isChanged = (field: keyof Draft) => draft[field].trim() !== before[field].trim()
  return {
    ...(isChanged("name") && { name: draft.name }),
    ...(isChanged("description") && { description: orNull(draft.description) }),
    ...(draft.prompt !== before.prompt && { prompt: draft.prompt }),
    ...(isChanged("agentId") && { agentId: draft.agentId === "" ? null : AgentId.make(draft.agentId) }),
    ...(isChanged("schedule") && { schedule: draft.schedule.trim() }),
    ...(isChanged("timezone") && { timezone: draft.timezone.trim() })
  }
}
