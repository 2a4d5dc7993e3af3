import * as Effect from "effect/Effect"
import type { Message } from "../../../../Schemas/Conversation.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import type { Tables } from "../Store.ts"

const mostHistory = 1000

const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** The messages of a conversation. */
export const make = ({
  conversations,
  messages,
  traces
}: Tables): Pick<ConversationRepo["Service"], "messages" | "history" | "addMessage" | "addReply"> => {
  const add = (id: string, message: Message, touched: (before: Date) => Date): boolean => {
    const conversation = conversations.get(id)
    if (conversation === undefined) return false
    messages.set(id, [...(messages.get(id) ?? []), message])
    conversations.set(id, { ...conversation, updatedAt: touched(conversation.updatedAt) })
    return true
  }

  return {
    messages: (id) => Effect.sync(() => messages.get(id) ?? []),
    history: (id, maximumBytes) =>
      Effect.sync(() => {
        let size = 0
        const newest = (messages.get(id) ?? [])
          .slice(-mostHistory)
          .reverse()
          .map((message) => ({ ...message, parts: traces.get(message.id)?.parts ?? null }))
        const fitting = newest.filter(({ content, parts }) => {
          const fits = size < maximumBytes
          size += bytesOf(content) + (parts === null ? 0 : bytesOf(JSON.stringify(parts)))
          return fits
        })
        return fitting.reverse().map(({ content, parts, role }) => ({ role, content, parts }))
      }),
    addMessage: (id, message) => Effect.sync(() => add(id, message, () => message.createdAt)),
    addReply: (id, reply, trace) =>
      Effect.sync(() => {
        const known = messages.get(id)?.some((message) => message.id === reply.id)
        if (known) return true
        traces.set(reply.id, trace)
        return add(id, reply, (before) => (before > reply.createdAt ? before : reply.createdAt))
      })
  }
}
