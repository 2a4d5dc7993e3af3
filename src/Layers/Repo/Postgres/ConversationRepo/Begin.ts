import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { StoredConversation, StoredMessage } from "../../../../Schemas/Conversation.ts"
import { type Followed, mostCopied, mostCopiedBytes, type NewTurn } from "../../../../Schemas/Turn.ts"
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

const orCalledSo = `on conflict (workspace_id, owner_id, chat_id)
  where chat_id is not null and deleted_at is null do nothing`

/** So that its position is behind theirs. */
const behindCopied = "claimed cross join (select count(*) from copied) before"

/**
 * A message with the turn that answers it, in one statement: a process that is stopped in the middle holds nothing that
 * others of its owner wait for.
 */
export const make = ({ change, sql }: Database["Service"]): Pick<ConversationRepo["Service"], "begin"> => {
  const nothing = sql.literal("")

  /**
   * That what it follows is the last message. Where others wrote meanwhile, the subquery is as old as the statement: by
   * the time of the row, which is locked, that is known.
   */
  const isLast = ({ conversationId, messageId, updatedAt }: Followed) => sql`
    and date_trunc('milliseconds', updated_at) = ${updatedAt}
    and ${messageId} = (
      select id from messages where conversation_id = ${conversationId} order by position desc limit 1)`

  const newPlace = ({ conversationId, messageId }: Followed) => sql`
    place as materialized (
      select position from messages where id = ${messageId} and conversation_id = ${conversationId}
        and ${isThere(sql, "conversations", conversationId)})`

  /** `place`: a row where the turn may begin, which is locked then. Whoever ends a turn has its conversation first, too. */
  const placeOf = ({ after, conversation: { id } }: NewTurn, isNew: boolean) => {
    if (isNew) return after === null ? sql`place as (select)` : newPlace(after)
    return sql`
      beginning as materialized (select pg_advisory_xact_lock_shared(${turnsOf(sql, id)})),
      place as materialized (
        select from conversations, beginning where id = ${id} and turn_id is null and deleted_at is null
          ${after === null ? nothing : isLast(after)}
        for no key update of conversations)`
  }

  /** `copied`: what there was up to the place, in its order, under ids as `copiedId` makes them. */
  const copy = ({ conversationId }: Followed) => sql`
    copied as (
      insert into messages (id, conversation_id, role, content, created_at, parts)
      select 'msg_' || left(right(claimed.id, 26), 10) || lpad(place::text, 3, '0') || right(claimed.id, 13), claimed.id, role, content, created_at, parts
      from claimed cross join (
        select *, row_number() over (order by position) - 1 as place from (
          select *, sum(size) over (order by position desc) - size as newer from (
            select position, role, content, created_at, parts,
              octet_length(content) + coalesce(octet_length(parts::text), 0) as size
            from messages where conversation_id = ${conversationId} and position <= (select position from place)
            order by position desc limit ${mostCopied}
          ) newest
        ) sized where newer < ${mostCopiedBytes}::bigint
      ) fitting
      order by position returning 1
    ),`

  const claim = ({ conversation, run }: NewTurn, isNew: boolean) => {
    const { agentId, chatId, id, updatedAt } = conversation
    const from = sql.literal(`place where ${isAllowed}`)
    return isNew
      ? sql`${insertSelect(
          "conversations",
          { ...conversationColumns.row(conversation), turn_id: run.id },
          from
        )} ${sql.literal(chatId === null ? "" : orCalledSo)}`
      : sql`
        update conversations
        set turn_id = ${run.id}, updated_at = ${updatedAt}, agent_id = coalesce(${agentId}, agent_id)
        from ${from} and id = ${id}`
  }

  return {
    begin: (turn, { isNew, mostPending, start }) => {
      const { after, conversation, first, message, parts, run } = turn
      const isCopied = isNew && after !== null
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
          ), ${isCopied ? copy(after) : nothing} said as (
            ${insertSelect("messages", said, sql.literal(isCopied ? behindCopied : "claimed"))}
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
