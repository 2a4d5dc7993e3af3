import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Message } from "../../../../Schemas/Conversation.ts"
import type { ConversationId } from "../../../../Schemas/Ids.ts"
import { copiedId, mostCopied, mostCopiedBytes, type NewTurn } from "../../../../Schemas/Turn.ts"
import { noUsage } from "../../../../Schemas/Usage.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import * as Claims from "../RunRepo/Claims.ts"
import type { Tables } from "../Store.ts"
import { newestWithin } from "./Messages.ts"

/** A message with the turn that answers it. */
export const make = (tables: Tables): Pick<ConversationRepo["Service"], "begin"> => {
  const { conversations, messages, traces, turns } = tables
  const { insert } = Claims.make(tables)
  const isCalledSo = ({ chatId, ownerId, workspaceId }: NewTurn["conversation"]) =>
    chatId !== null &&
    Array.from(conversations.values()).some(
      (other) => other.chatId === chatId && other.ownerId === ownerId && other.workspaceId === workspaceId
    )

  const copy = (said: ReadonlyArray<Message>, id: ConversationId): ReadonlyArray<Message> =>
    newestWithin(tables, said.slice(-mostCopied), mostCopiedBytes).map(({ parts, ...message }, place) => {
      const copied = { ...message, id: copiedId(id, place) }
      if (parts !== null) traces.set(copied.id, { parts, usage: noUsage })
      return copied
    })

  return {
    begin: ({ after, conversation, first, message, parts, run }, { isNew, mostPending, start }) =>
      Effect.suspend(() => {
        const { agentId, id, updatedAt } = conversation
        const before = conversations.get(id)
        const said = after === null ? [] : (messages.get(after.conversationId) ?? [])
        const end = said.findIndex((each) => each.id === after?.messageId) + 1
        const isLast = end === said.length && before?.updatedAt.getTime() === after?.updatedAt.getTime()
        const isBehind = after === null || (end > 0 && (isNew || isLast))
        const isFree = isNew ? !isCalledSo(conversation) : before !== undefined && !turns.has(id)
        if (!isBehind || !isFree) return Effect.succeedNone
        return Effect.map(insert(run, start, [[first]], mostPending), (isStarted) => {
          const there = before && { ...before, agentId: agentId ?? before.agentId, updatedAt }
          turns.set(id, run.id)
          conversations.set(id, there ?? conversation)
          const copied = isNew && after !== null ? copy(said.slice(0, end), id) : []
          messages.set(id, [...copied, ...(messages.get(id) ?? []), message])
          if (parts !== null) traces.set(message.id, { parts, usage: noUsage })
          return Option.some(isStarted)
        })
      })
  }
}
