import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Agent } from "../../src/Schemas/Agent.ts"
import type { StoredApproval } from "../../src/Schemas/Approval.ts"
import type { Message, StoredConversation } from "../../src/Schemas/Conversation.ts"
import type {
  AgentId,
  ApprovalId,
  ConversationId,
  MessageId,
  ProjectId,
  ProviderKeyId,
  RunId,
  UserId,
  WorkspaceId
} from "../../src/Schemas/Ids.ts"
import type { Project } from "../../src/Schemas/Project.ts"
import type { StoredProviderKey } from "../../src/Schemas/ProviderKey.ts"
import { type NewRun, unstarted } from "../../src/Schemas/Run.ts"
import type { Email, User } from "../../src/Schemas/User.ts"
import type { Workspace } from "../../src/Schemas/Workspace.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { ProjectRepo } from "../../src/Services/ProjectRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"

/** A moment of the tests, with milliseconds that a store could lose. */
export const at = (millis = 0) => new Date(Date.UTC(2026, 10, 20, 8, 0, 0, 123) + millis)

/** Text that a store could spoil: 4-byte code points, joined emoji, combining marks, quotes, a tab. */
export const unicode = "Zoë 👩‍🚀 𝒳 e\u0301 日本語 \u202e 'x' \"y\" \\n\t%_ $1"

export const newId = <B extends string>(kind: Parameters<Ids["Service"]["make"]>[0]) =>
  Effect.flatMap(Ids, (ids) => ids.make<B>(kind))

export const newUser = Effect.gen(function* () {
  const id = yield* newId<UserId>("user")
  const user: User = { id, email: `${id}@example.org` as Email, createdAt: at() }
  return user
})

export const makeUser = Effect.gen(function* () {
  const user = yield* newUser
  yield* (yield* UserRepo).insert(user)
  return user
})

export const newWorkspace = Effect.gen(function* () {
  const id = yield* newId<WorkspaceId>("workspace")
  const workspace: Workspace = {
    id,
    name: unicode,
    plan: "free",
    defaultProviderKeyId: null,
    createdAt: at(),
    updatedAt: at(1)
  }
  return workspace
})

/** Of nobody, and so without a limit that it shares with others. */
export const makeWorkspace = Effect.suspend(() => makeWorkspaceOf(null))

export const makeWorkspaceOf = Effect.fnUntraced(function* (
  createdBy: UserId | null,
  given: Partial<Workspace> = {}
) {
  const workspace = { ...(yield* newWorkspace), ...given }
  const inserted = (yield* WorkspaceRepo).insert(workspace, createdBy)
  yield* Effect.catchTag(inserted, "PlanLimitExceeded", Effect.die)
  return workspace.id
})

export const newProject = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const id = yield* newId<ProjectId>("project")
  const project: Project = { id, workspaceId, name: unicode, createdAt: at() }
  return project
})

export const makeProject = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const project = yield* newProject(workspaceId)
  yield* (yield* ProjectRepo).insert(project)
  return project
})

export const makeProviderKey = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const id = yield* newId<ProviderKeyId>("providerKey")
  const key: StoredProviderKey = {
    id,
    workspaceId,
    name: unicode,
    provider: "openai",
    model: "gpt-5",
    baseUrl: null,
    maxOutputTokens: null,
    pricing: null,
    hasApiKey: false,
    sealedApiKey: null,
    createdAt: at()
  }
  yield* (yield* ProviderKeyRepo).insert(key)
  return key
})

export const makeAgent = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<Omit<Agent, "providerKey">> = {}
) {
  const id = yield* newId<AgentId>("agent")
  return yield* (yield* AgentRepo).insert({
    id,
    workspaceId,
    projectId: null,
    name: "Agent",
    description: null,
    systemPrompt: null,
    isActive: true,
    providerKeyId: null,
    createdAt: at(),
    updatedAt: at(),
    ...given
  })
})

export const makeConversation = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<Omit<StoredConversation, "agent">> = {}
) {
  const conversation: Omit<StoredConversation, "agent"> = {
    id: yield* newId<ConversationId>("conversation"),
    workspaceId,
    projectId: null,
    title: "Conversation",
    agentId: null,
    ownerId: given.ownerId ?? (yield* makeUser).id,
    chatId: null,
    isHidden: false,
    createdAt: at(),
    updatedAt: at(),
    ...given
  }
  yield* (yield* ConversationRepo).insert(conversation)
  return conversation
})

export const newMessage = Effect.fnUntraced(function* (given: Partial<Message> = {}) {
  const id = yield* newId<MessageId>("message")
  const message: Message = { id, role: "USER", content: "Hello", createdAt: at(1_000), ...given }
  return message
})

export const newRun = Effect.fnUntraced(function* (workspaceId: WorkspaceId, given: Partial<NewRun> = {}) {
  const run: NewRun = {
    id: yield* newId<RunId>("run"),
    workspaceId,
    projectId: null,
    status: "PENDING",
    prompt: "Do it",
    ...unstarted,
    createdAt: at(),
    updatedAt: at(),
    agentId: null,
    autonomyLevel: "semi-autonomous",
    selectedProvider: null,
    selectedModel: null,
    providerKeyId: null,
    cronJobId: null,
    turn: null,
    connectorIds: null,
    policy: null,
    input: null,
    ...given
  }
  return run
})

export const makeRun = Effect.fnUntraced(function* (workspaceId: WorkspaceId, given: Partial<NewRun> = {}) {
  const run = yield* newRun(workspaceId, given)
  yield* (yield* RunRepo).insert(run)
  return run
})

/** A tool call that waits for approval, with its run. */
export const makeApproval = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<StoredApproval> = {}
) {
  const worker = yield* newId<string>("run")
  const run = yield* newRun(workspaceId)
  const started = { worker, leaseMillis: 60_000, perWorkspace: 1_000 }
  assert.isTrue(yield* (yield* RunRepo).insert(run, started))
  const approval: StoredApproval = {
    id: yield* newId<ApprovalId>("approval"),
    workspaceId,
    runId: run.id,
    toolCallId: "call_1",
    tool: "remember",
    connector: null,
    address: null,
    description: null,
    arguments: { key: unicode },
    fingerprint: "f",
    status: "PENDING",
    reason: null,
    decidedBy: null,
    decidedAt: null,
    createdAt: at(),
    expiresAt: new Date("2100-01-01T00:00:00.000Z"),
    ...given
  }
  assert.isTrue(yield* (yield* ApprovalRepo).park({ id: run.id, worker, epoch: 1 }, [approval]))
  return approval
})
