import * as Schema from "effect/Schema"
import { HistoryEntry, Message } from "../../../../Schemas/Conversation.ts"
import { PromptMessage } from "../../../../Schemas/Inference.ts"
import { Usage } from "../../../../Schemas/Usage.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import { insertSelect, makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { isThere } from "../Removed.ts"
import { returnedRow, rows } from "../Rows.ts"

const messages = rows(Message)
const messageColumns = makeColumns(Message, {})
const Reply = Schema.Struct({ ...Message.fields, ...Usage.fields, parts: Schema.Array(PromptMessage) })
const replyColumns = makeColumns(Reply, { parts: "json" })
const history = rows(HistoryEntry)
const mostHistory = 1000

/** The messages of a conversation. */
export const make = ({
  query,
  sql
}: Database["Service"]): Pick<
  ConversationRepo["Service"],
  "messages" | "history" | "addMessage" | "addReply"
> => {
  const insertMessage = (row: Readonly<Record<string, unknown>>) =>
    insertSelect("messages", { ...row, conversation_id: sql.literal("touched.id") }, sql.literal("touched"))

  return {
    messages: (id) =>
      query(
        messages(sql`
          select ${messageColumns.read()}
          from messages where conversation_id = ${id} and ${isThere(sql, "conversations", id)}
          order by position`)
      ),
    history: (id, maximumBytes) =>
      query(
        history(sql`
          select role, content, parts from (
            select *, sum(size) over (order by position desc) - size as newer from (
              select position, role, content, parts,
                octet_length(content) + coalesce(octet_length(parts::text), 0) as size
              from messages where conversation_id = ${id} and ${isThere(sql, "conversations", id)}
              order by position desc limit ${mostHistory}
            ) newest
          ) sized
          where newer < ${maximumBytes}::bigint order by position`)
      ),
    addMessage: (id, message) =>
      query(
        returnedRow(sql`
          with touched as (
            update conversations set updated_at = ${message.createdAt}
            where id = ${id} and deleted_at is null returning id)
          ${insertMessage(messageColumns.row(message))}
          returning id`)
      ),
    addReply: (id, reply, { parts, usage }) =>
      query(
        returnedRow(sql`
          with touched as (
            update conversations set updated_at = greatest(updated_at, ${reply.createdAt}::timestamptz)
            where id = ${id} and deleted_at is null
            returning id
          ), added as (
            ${insertMessage(replyColumns.row({ ...reply, ...usage, parts }))}
            on conflict (id) do nothing)
          select id from touched`)
      )
  }
}
