import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredConversation } from "../../../../Schemas/Conversation.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import { inOrder } from "../Order.ts"
import type { Tables } from "../Store.ts"

export const withAgent = (
  { agents }: Pick<Tables, "agents">,
  conversation: Omit<StoredConversation, "agent">
): StoredConversation => {
  const agent = conversation.agentId === null ? undefined : agents.get(conversation.agentId)
  return { ...conversation, agent: agent ? { id: agent.id, name: agent.name } : null }
}

/** A conversation by what it is called, and its latest turn. */
export const make = (
  tables: Tables
): Pick<ConversationRepo["Service"], "find" | "findChat" | "latestTurn"> => {
  const { conversations, runs, turns } = tables
  const shown = (found: Omit<StoredConversation, "agent"> | undefined) =>
    Option.map(Option.fromNullishOr(found), (conversation) => withAgent(tables, conversation))
  return {
    find: (id) => Effect.sync(() => shown(conversations.get(id))),
    findChat: ({ chatId, ownerId, workspaceId }) =>
      Effect.sync(() =>
        shown(
          Array.from(conversations.values()).find(
            (conversation) =>
              conversation.chatId === chatId &&
              conversation.ownerId === ownerId &&
              conversation.workspaceId === workspaceId
          )
        )
      ),
    latestTurn: (id) =>
      Effect.sync(() => {
        const told = Array.from(runs.values()).filter((run) => run.turn?.conversationId === id)
        return Option.fromNullishOr(turns.get(id) ?? told.sort(inOrder("createdAt")).at(-1)?.id)
      })
  }
}
