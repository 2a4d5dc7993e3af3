import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Message, StoredMessage } from "../../../../Schemas/Conversation.ts"
import { ReferenceGone } from "../../../../Schemas/Errors.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import { batchOf, isOver } from "../Slices.ts"
import type { Tables } from "../Store.ts"

const mostHistory = 1000

const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** The newest of some messages with what models are shown of them, as many as fit, and one more. */
export const newestWithin = (
  { traces }: Pick<Tables, "traces">,
  said: ReadonlyArray<Message>,
  maximumBytes: number
): ReadonlyArray<StoredMessage> => {
  let size = 0
  const newest = said.toReversed().map((message) => ({
    ...message,
    parts: traces.get(message.id)?.parts ?? null
  }))
  const fitting = newest.filter(({ content, parts }) => {
    const fits = size < maximumBytes
    size += bytesOf(content) + (parts === null ? 0 : bytesOf(JSON.stringify(parts)))
    return fits
  })
  return fitting.reverse()
}

/** The messages of a conversation. */
export const make = ({
  conversations,
  messages,
  traces
}: Tables): Pick<
  ConversationRepo["Service"],
  "newest" | "extent" | "messages" | "history" | "entry" | "rewind" | "addMessage" | "addReply"
> => {
  const add = (id: string, message: Message, touched: (before: Date) => Date): boolean => {
    const conversation = conversations.get(id)
    if (conversation === undefined) return false
    messages.set(id, [...(messages.get(id) ?? []), message])
    conversations.set(id, { ...conversation, updatedAt: touched(conversation.updatedAt) })
    return true
  }

  /** A place is an index. */
  const upTo = (id: string, before: string | null) => {
    const all = messages.get(id) ?? []
    const end = before === null ? all.length : all.findIndex((message) => message.id === before)
    return end < 0 ? Effect.fail(new ReferenceGone({ field: "before" })) : Effect.succeed(all.slice(0, end))
  }

  return {
    newest: (id, part) =>
      Effect.map(upTo(id, part.before), (all) => {
        const rows = batchOf(all.toReversed(), part.limit).toReversed()
        return { rows, next: rows.length < all.length ? all.length - 1 : null }
      }),
    extent: (id, { before, limit }) =>
      Effect.map(Effect.orDie(upTo(id, before)), (all) => {
        const first = limit === undefined ? 0 : Math.max(all.length - limit, 0)
        return { isOver: isOver(all.slice(first)), after: first - 1, until: all.length - 1, next: null }
      }),
    messages: (id, { after, limit, until }) =>
      Effect.sync(() => {
        const first = (after ?? -1) + 1
        const asked = (messages.get(id) ?? []).slice(first, until === null ? undefined : until + 1)
        const rows = batchOf(asked, limit)
        return { rows, next: rows.length < asked.length ? first + rows.length - 1 : null }
      }),
    history: (id, maximumBytes) =>
      Effect.sync(() => newestWithin({ traces }, (messages.get(id) ?? []).slice(-mostHistory), maximumBytes)),
    entry: (id, messageId) =>
      Effect.sync(() => {
        const found = messages.get(id)?.find((message) => message.id === messageId)
        return found === undefined
          ? Option.none()
          : Option.some({ ...found, parts: traces.get(messageId)?.parts ?? null })
      }),
    rewind: (id, from, kept) =>
      Effect.sync(() => {
        const all = messages.get(id) ?? []
        const first = all.findIndex((message) => message.id === from)
        if (first < 0) return
        messages.set(
          id,
          all.filter((message, index) => index < first || message.id === kept)
        )
        for (const message of all.slice(first)) if (message.id !== kept) traces.delete(message.id)
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
