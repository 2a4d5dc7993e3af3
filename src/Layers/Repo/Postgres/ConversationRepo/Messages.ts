import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import { Message, StoredMessage } from "../../../../Schemas/Conversation.ts"
import { ReferenceGone } from "../../../../Schemas/Errors.ts"
import { PromptMessage } from "../../../../Schemas/Inference.ts"
import { Usage } from "../../../../Schemas/Usage.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import { insertSelect, makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { isThere } from "../Removed.ts"
import { firstRow, returnedRow, rows } from "../Rows.ts"
import * as Slices from "../Slices.ts"

const PlacedMessage = Schema.Struct({ ...Message.fields, position: Schema.Finite })
const placedColumns = makeColumns(PlacedMessage, { position: { read: "m.position::float8" } })
const messageColumns = makeColumns(Message, {})
const Reply = Schema.Struct({ ...Message.fields, ...Usage.fields, parts: Schema.Array(PromptMessage) })
const replyColumns = makeColumns(Reply, { parts: "json" })
const stored = firstRow(StoredMessage)
const storedColumns = makeColumns(StoredMessage, { parts: "json" })
const history = rows(StoredMessage)
const mostHistory = 1000

const toMessage = ({ position: _, ...message }: typeof PlacedMessage.Type): Message => message

/** The messages of a conversation. */
export const make = (
  database: Database["Service"]
): Pick<
  ConversationRepo["Service"],
  "newest" | "extent" | "messages" | "history" | "entry" | "rewind" | "addMessage" | "addReply"
> => {
  const { list, query, sql, write } = database
  const slices = Slices.make(database, {
    table: "messages",
    alias: "m",
    order: ["position"],
    shown: placedColumns.read("m"),
    row: PlacedMessage,
    least: messageColumns.leastBytes("content"),
    json: messageColumns.jsonBytes("m")
  })

  const scopeOf = (id: string) => sql`conversation_id = ${id} and ${isThere(sql, "conversations", id)}`

  const placeOf = (id: string, message: string) => sql`
    (select position from messages where id = ${message} and conversation_id = ${id})`

  const before = (id: string, message: string | null) =>
    message === null ? scopeOf(id) : sql`${scopeOf(id)} and position < ${placeOf(id, message)}`

  const requireThere = (id: string, message: string | null) =>
    message === null
      ? Effect.void
      : list(
          Effect.flatMap(
            sql`select 1 from messages where id = ${message} and conversation_id = ${id}`,
            (there): Effect.Effect<void, ReferenceGone | SqlError> =>
              there.length > 0 ? Effect.void : Effect.fail(new ReferenceGone({ field: "before" }))
          )
        )

  const insertMessage = (row: Readonly<Record<string, unknown>>) =>
    insertSelect("messages", { ...row, conversation_id: sql.literal("touched.id") }, sql.literal("touched"))

  return {
    newest: Effect.fnUntraced(function* (id, part) {
      const where = before(id, part.before)
      const { isCut, rows } = yield* slices.batch({ of: id, where, limit: part.limit, isDescending: true })
      if (rows.length === 0) yield* requireThere(id, part.before)
      return { rows: rows.map(toMessage).reverse(), next: isCut ? (rows[0]?.position ?? null) : null }
    }),
    extent: (id, part) =>
      Effect.map(
        slices.extent({ of: id, where: before(id, part.before), limit: part.limit, isDescending: true }),
        ({ first, isOver, position }) => ({
          isOver,
          after: position === null ? null : position - 1,
          until: first,
          next: null
        })
      ),
    messages: (id, { after, limit, until }) =>
      Effect.map(
        slices.batch({
          of: id,
          where: sql.and([
            scopeOf(id),
            ...(after === null ? [] : [sql`position > ${after}`]),
            ...(until === null ? [] : [sql`position <= ${until}`])
          ]),
          limit
        }),
        ({ isCut, rows }) => ({
          rows: rows.map(toMessage),
          next: isCut ? (rows.at(-1)?.position ?? null) : null
        })
      ),
    history: (id, maximumBytes) =>
      query(
        history(sql`
          select ${storedColumns.read()} from (
            select *, sum(size) over (order by position desc) - size as newer from (
              select position, id, role, content, created_at, parts,
                octet_length(content) + coalesce(octet_length(parts::text), 0) as size
              from messages where conversation_id = ${id} and ${isThere(sql, "conversations", id)}
              order by position desc limit ${mostHistory}
            ) newest
          ) sized
          where newer < ${maximumBytes}::bigint order by position`)
      ),
    entry: (id, messageId) =>
      query(
        stored(sql`
          select ${storedColumns.read()} from messages
          where id = ${messageId} and conversation_id = ${id} and ${isThere(sql, "conversations", id)}`)
      ),
    rewind: (id, from, kept) =>
      Effect.asVoid(
        write(
          id,
          sql`
            delete from messages where ${scopeOf(id)} and id <> ${kept}
              and position >= ${placeOf(id, from)}`
        )
      ),
    addMessage: (id, message) =>
      write(
        id,
        returnedRow(sql`
          with touched as (
            update conversations set updated_at = ${message.createdAt}
            where id = ${id} and deleted_at is null returning id)
          ${insertMessage(messageColumns.row(message))}
          returning id`)
      ),
    addReply: (id, reply, { parts, usage }) =>
      write(
        id,
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
