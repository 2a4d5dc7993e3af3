import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { noUsage } from "../../../../Schemas/Usage.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import * as Claims from "../RunRepo/Claims.ts"
import type { Tables } from "../Store.ts"

/** A message with the turn that answers it. */
export const make = (tables: Tables): Pick<ConversationRepo["Service"], "begin"> => {
  const { conversations, messages, traces, turns } = tables
  const { insert } = Claims.make(tables)
  return {
    begin: ({ conversation, first, message, parts, run }, { isNew, mostPending, start }) =>
      Effect.suspend(() => {
        const { agentId, id, updatedAt } = conversation
        const before = conversations.get(id)
        if (!isNew && (before === undefined || turns.has(id))) return Effect.succeedNone
        return Effect.map(insert(run, start, [[first]], mostPending), (isStarted) => {
          const there = before && { ...before, agentId: agentId ?? before.agentId, updatedAt }
          turns.set(id, run.id)
          conversations.set(id, there ?? conversation)
          messages.set(id, [...(messages.get(id) ?? []), message])
          if (parts !== null) traces.set(message.id, { parts, usage: noUsage })
          return Option.some(isStarted)
        })
      })
  }
}
