import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { StoredConversation, StoredMessage } from "../../../../Schemas/Conversation.ts"
import type { NewTurn } from "../../../../Schemas/Turn.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import { insertSelect, makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { keeping } from "../EventBatches.ts"
import { goneOf, orGone } from "../Named.ts"
import { isThere } from "../Removed.ts"
import {
  answerColumns,
  answered,
  freeIn,
  insertStarted,
  isAllowed,
  isWritten,
  roomFor,
  toStarted
} from "../RunRepo/Insert.ts"
import { turnsOf } from "./Turns.ts"

const conversationColumns = makeColumns(StoredConversation, { agent: { read: "null" } })
const messageColumns = makeColumns(StoredMessage, { parts: "json" })

/**
 * A message with the turn that answers it, in one statement: a process that is stopped in the middle holds nothing that
 * others of its owner wait for.
 */
export const make = ({ change, sql }: Database["Service"]): Pick<ConversationRepo["Service"], "begin"> => {
  /** `place`: a row where the turn may begin, which is locked then. Whoever ends a turn has its conversation first, too. */
  const placeOf = ({ conversation: { id } }: NewTurn, isNew: boolean) =>
    isNew
      ? sql`place as (select)`
      : sql`
        beginning as materialized (select pg_advisory_xact_lock_shared(${turnsOf(sql, id)})),
        place as materialized (
          select from conversations, beginning where id = ${id} and turn_id is null and deleted_at is null
          for no key update of conversations)`

  const claim = ({ conversation, run }: NewTurn, isNew: boolean) => {
    const { agentId, id, updatedAt } = conversation
    const from = sql.literal(`place where ${isAllowed}`)
    return isNew
      ? insertSelect("conversations", { ...conversationColumns.row(conversation), turn_id: run.id }, from)
      : sql`
        update conversations
        set turn_id = ${run.id}, updated_at = ${updatedAt}, agent_id = coalesce(${agentId}, agent_id)
        from ${from} and id = ${id}`
  }

  return {
    begin: (turn, { isNew, mostPending, start }) => {
      const { conversation, first, message, parts, run } = turn
      const said = {
        ...messageColumns.row({ ...message, parts }),
        conversation_id: sql.literal("claimed.id")
      }
      const isBegun = isNew ? sql.literal("true") : isThere(sql, "conversations", conversation.id)
      const wanted = sql.literal("exists (select from place)")
      return change((audit) =>
        // In the order of `RunRepo.insert`: the conversation is one of the things that are named.
        answered(sql`
          with ${goneOf(sql, run)}, ${placeOf(turn, isNew)},
          ${roomFor(sql, run, start ?? { perWorkspace: 0 }, mostPending, wanted)}, ${sql.literal(freeIn)},
          claimed as (
            ${claim(turn, isNew)} returning conversations.id
          ), said as (
            ${insertSelect("messages", said, sql.literal("claimed"))}
          ), made as (
            ${insertStarted(sql, run, start, sql.literal("free, claimed"))} returning id, status
          )${keeping(sql, "made", [[first]])}${audit.of("made")}
          select ${answerColumns}`).pipe(Effect.map(Option.filter(isWritten)), orGone(sql, run, isBegun))
      ).pipe(
        Effect.flatMap(
          Option.match({
            onNone: () => Effect.succeedNone,
            onSome: (answer) => Effect.asSome(toStarted(answer, mostPending))
          })
        )
      )
    }
  }
}
