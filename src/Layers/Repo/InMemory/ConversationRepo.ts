import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { toConversation, toPreview } from "../../../Schemas/Conversation.ts"
import { isTerminal } from "../../../Schemas/Run.ts"
import { ConversationRepo } from "../../../Services/ConversationRepo.ts"
import * as Metrics from "../../../Services/Metrics.ts"
import * as Begin from "./ConversationRepo/Begin.ts"
import * as Find from "./ConversationRepo/Find.ts"
import { withAgent } from "./ConversationRepo/Find.ts"
import * as Messages from "./ConversationRepo/Messages.ts"
import { unlessGone } from "./Named.ts"
import { inOrder } from "./Order.ts"
import { removeRun, Store } from "./Store.ts"

export const layer = Layer.effect(
  ConversationRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { conversations, messages, runs, traces, turns } = tables

    /** With its messages and turns: which those were. */
    const remove = (id: string) => {
      conversations.delete(id)
      for (const message of messages.get(id) ?? []) traces.delete(message.id)
      messages.delete(id)
      turns.delete(id)
      const told = Array.from(runs.values()).filter((run) => run.turn?.conversationId === id)
      for (const run of told) removeRun(tables, run.id)
      return told
    }

    return guard(
      ConversationRepo.of({
        ...Begin.make(tables),
        ...Find.make(tables),
        ...Messages.make(tables),
        insert: (conversation) =>
          unlessGone(tables, conversation, () => void conversations.set(conversation.id, conversation)),
        list: ({ limit, offset, projectId, workspaceId }) =>
          Effect.sync(() =>
            Array.from(conversations.values())
              .filter((conversation) => conversation.workspaceId === workspaceId && !conversation.isHidden)
              .filter((conversation) => projectId === undefined || conversation.projectId === projectId)
              .sort(inOrder("updatedAt"))
              .reverse()
              .slice(offset, offset + limit)
              .map((conversation) =>
                toConversation(
                  withAgent(tables, conversation),
                  (messages.get(conversation.id) ?? []).slice(-1).map(toPreview)
                )
              )
          ),
        setAgent: (id, agentId) =>
          unlessGone(tables, conversations.has(id) ? { agentId } : {}, () => {
            const conversation = conversations.get(id)
            if (conversation !== undefined) conversations.set(id, { ...conversation, agentId })
          }),
        remove: (id) =>
          Effect.suspend(() => {
            if (!conversations.has(id)) return Effect.succeedNone
            const turnId = turns.get(id) ?? null
            const ended = remove(id).filter(({ status }) => !isTerminal(status)).length
            return Effect.as(Metrics.countEnds("turn", "CANCELLED", ended), Option.some({ turnId }))
          }),
        forgetHidden: (before, limit) =>
          Effect.sync(() => {
            const old = Array.from(conversations.values())
              .filter(({ id, isHidden, updatedAt }) => isHidden && updatedAt < before && !turns.has(id))
              .sort(inOrder("updatedAt"))
              .slice(0, limit)
            for (const { id } of old) remove(id)
            return old.length
          }),
        claimTurn: (id, turnId) =>
          Effect.sync(() => {
            if (!conversations.has(id) || turns.has(id)) return false
            turns.set(id, turnId)
            return true
          })
      })
    )
  })
)
