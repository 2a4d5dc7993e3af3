import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import {
  type Message,
  type StoredConversation,
  toConversation,
  toPreview
} from "../../../Schemas/Conversation.ts"
import { ConversationRepo } from "../../../Services/ConversationRepo.ts"
import { inOrder } from "./Order.ts"
import { Store } from "./Store.ts"

const mostHistory = 1000

export const layer = Layer.effect(
  ConversationRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { agents, conversations, messages, traces, turns } = tables

    const withAgent = (conversation: Omit<StoredConversation, "agent">): StoredConversation => {
      const agent = conversation.agentId === null ? undefined : agents.get(conversation.agentId)
      return { ...conversation, agent: agent ? { id: agent.id, name: agent.name } : null }
    }
    const addMessage = (id: string, message: Message): boolean => {
      const conversation = conversations.get(id)
      if (conversation === undefined) return false
      messages.set(id, [...(messages.get(id) ?? []), message])
      conversations.set(id, { ...conversation, updatedAt: message.createdAt })
      return true
    }

    return guard(
      ConversationRepo.of({
        insert: (conversation) => Effect.sync(() => void conversations.set(conversation.id, conversation)),
        find: (id) => Effect.sync(() => Option.map(Option.fromNullishOr(conversations.get(id)), withAgent)),
        list: ({ limit, offset, projectId, workspaceId }) =>
          Effect.sync(() =>
            Array.from(conversations.values())
              .filter((conversation) => conversation.workspaceId === workspaceId)
              .filter((conversation) => projectId === undefined || conversation.projectId === projectId)
              .sort(inOrder("updatedAt"))
              .reverse()
              .slice(offset, offset + limit)
              .map((conversation) =>
                toConversation(
                  withAgent(conversation),
                  (messages.get(conversation.id) ?? []).slice(-1).map(toPreview)
                )
              )
          ),
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
              size += content.length + (parts === null ? 0 : JSON.stringify(parts).length)
              return fits
            })
            return fitting.reverse().map(({ content, parts, role }) => ({ role, content, parts }))
          }),
        addMessage: (id, message) => Effect.sync(() => addMessage(id, message)),
        setAgent: (id, agentId) =>
          Effect.sync(() => {
            const conversation = conversations.get(id)
            if (conversation !== undefined) conversations.set(id, { ...conversation, agentId })
          }),
        remove: (id) =>
          Effect.sync(() => {
            for (const message of messages.get(id) ?? []) traces.delete(message.id)
            messages.delete(id)
            turns.delete(id)
            return conversations.delete(id)
          }),
        claimTurn: (id, { leaseMillis, turnId, worker }) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const held = turns.get(id)
            if (!conversations.has(id) || (held !== undefined && held.until > at)) return false
            turns.set(id, { turnId, worker, until: at + leaseMillis })
            return true
          }),
        renewTurn: (id, turnId, leaseMillis) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const held = turns.get(id)
            if (held?.turnId !== turnId) return false
            turns.set(id, { ...held, until: at + leaseMillis })
            return true
          }),
        finishTurn: (id, turnId, reply, trace) =>
          Effect.sync(() => {
            if (turns.get(id)?.turnId !== turnId) return false
            turns.delete(id)
            if (reply !== null && trace !== undefined) traces.set(reply.id, trace)
            return reply === null || addMessage(id, reply)
          }),
        releaseTurns: (worker) =>
          Effect.sync(() => {
            for (const [id, turn] of turns) if (turn.worker === worker) turns.delete(id)
          })
      })
    )
  })
)
