import { assert, describe, it } from "@effect/vitest"
import type { SendMessage, StoredConversation } from "../../src/Schemas/Conversation.ts"
import type {
  AgentId,
  ConversationId,
  MessageId,
  ProjectId,
  RunId,
  UserId,
  WorkspaceId
} from "../../src/Schemas/Ids.ts"
import { newTurn } from "../../src/Schemas/Turn.ts"

const at = new Date(5_000)
const input: SendMessage = { workspaceId: "ws_1" as WorkspaceId, content: "What time is it?" }
const ids = {
  turn: "turn_1" as RunId,
  message: "msg_1" as MessageId,
  reply: "msg_2" as MessageId,
  conversation: "conv_new" as ConversationId
}
const existing: StoredConversation = {
  id: "conv_old" as ConversationId,
  workspaceId: input.workspaceId,
  projectId: "proj_1" as ProjectId,
  title: "Before",
  agentId: "agent_1" as AgentId,
  agent: { id: "agent_1" as AgentId, name: "A" },
  ownerId: "user_other" as UserId,
  chatId: null,
  isHidden: false,
  createdAt: new Date(1),
  updatedAt: new Date(2)
}
const sender = "user_1" as UserId
const plan = (given: Partial<Parameters<typeof newTurn>[0]> = {}) =>
  newTurn({ input, existing: null, agent: null, sender, ids, at, ...given })

describe("the turn of a message", () => {
  it("makes a conversation of the sender's where the message names none", () => {
    const { conversation, first, message, run } = plan()
    assert.deepStrictEqual(conversation, {
      id: ids.conversation,
      workspaceId: input.workspaceId,
      projectId: null,
      title: "What time is it?",
      agentId: null,
      ownerId: sender,
      chatId: null,
      isHidden: false,
      createdAt: at,
      updatedAt: at
    })
    assert.deepInclude(run, {
      id: ids.turn,
      status: "PENDING",
      prompt: input.content,
      turn: { conversationId: ids.conversation, replyId: ids.reply },
      autonomyLevel: "semi-autonomous"
    })
    assert.deepStrictEqual(message, { id: ids.message, role: "USER", content: input.content, createdAt: at })
    assert.deepInclude(first, { id: 1 })
    assert.deepInclude(first.event.data, {
      conversationId: ids.conversation,
      turnId: ids.turn,
      created: true
    })
  })

  it("goes on in the conversation that the message names, which stays its owner's", () => {
    const { conversation, first, run } = plan({ existing })
    assert.deepInclude(conversation, {
      id: existing.id,
      ownerId: existing.ownerId,
      title: "Before",
      createdAt: new Date(1),
      updatedAt: at
    })
    assert.deepInclude(run, { projectId: existing.projectId, autonomyLevel: "semi-autonomous" })
    assert.deepInclude(first.event.data, { conversationId: existing.id, title: "Before", created: false })
  })

  it("is answered by the agent that was found, as autonomous as the message says", () => {
    const agent = { id: "agent_2" as AgentId, policy: null }
    const { conversation, run } = plan({
      existing,
      agent,
      input: { ...input, autonomyLevel: "supervised" }
    })
    assert.strictEqual(conversation.agentId, agent.id)
    assert.deepInclude(run, { agentId: agent.id, autonomyLevel: "supervised" })
  })
})
