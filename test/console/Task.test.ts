import { describe, expect, it } from "vitest"
import { draftProblem, emptyDraft, taskOf } from "../../console/src/views/Runs/Task.ts"
import { WorkspaceId } from "../../src/Schemas/Ids.ts"

const workspaceId = WorkspaceId.make("ws_1")

describe("a task that is written", () => {
  it("says nothing of what was left empty", () => {
    expect(taskOf({ ...emptyDraft, prompt: "do it" }, workspaceId)).toEqual({ workspaceId, prompt: "do it" })
  })

  it("says all that was filled in, and no connectors where none was chosen", () => {
    const draft = {
      prompt: "do it",
      agentId: "agent_1",
      projectId: "proj_1",
      providerKeyId: "pkey_1",
      model: " large ",
      autonomyLevel: "supervised",
      connectorIds: [],
      runAt: "2026-11-23T10:00"
    }
    expect(taskOf(draft, workspaceId)).toEqual({
      workspaceId,
      prompt: "do it",
      agentId: "agent_1",
      projectId: "proj_1",
      providerKeyId: "pkey_1",
      selectedModel: "large",
      autonomyLevel: "supervised",
      connectorIds: [],
      runAt: new Date("2026-11-23T10:00")
    })
  })

  it("is not sent empty or too long, as people count characters", () => {
    expect(draftProblem({ ...emptyDraft, prompt: " \n" })).toMatch(/^prompt: /u)
    expect(draftProblem({ ...emptyDraft, prompt: "🎉".repeat(10_000) })).toBeUndefined()
    expect(draftProblem({ ...emptyDraft, prompt: "🎉".repeat(10_001) })).toMatch(/10001/u)
    expect(draftProblem({ ...emptyDraft, prompt: "a", model: "m".repeat(201) })).toMatch(/^selectedModel: /u)
    expect(draftProblem({ ...emptyDraft, prompt: "a", runAt: "soon" })).toMatch(/^runAt: /u)
  })
})
