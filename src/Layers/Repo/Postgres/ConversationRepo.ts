import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { AgentReference } from "../../../Schemas/Agent.ts"
import { MessageRole, StoredConversation, toConversation } from "../../../Schemas/Conversation.ts"
import { MessageId } from "../../../Schemas/Ids.ts"
import { ConversationRepo } from "../../../Services/ConversationRepo.ts"
import { insertSelect, makeColumns, referenceOf } from "./Columns.ts"
import * as Begin from "./ConversationRepo/Begin.ts"
import * as Find from "./ConversationRepo/Find.ts"
import * as Messages from "./ConversationRepo/Messages.ts"
import * as Turns from "./ConversationRepo/Turns.ts"
import { Database } from "./Database.ts"
import { goneOf, orGone, orOnlyGone, unlessGone } from "./Named.ts"
import { isThere } from "./Removed.ts"
import { firstRow, rows } from "./Rows.ts"

const agent = { read: referenceOf(AgentReference, "a") }
const columns = makeColumns(StoredConversation, { agent })
const agentId = { read: "a.id" }
const Listed = Schema.Struct({
  ...StoredConversation.fields,
  lastId: Schema.NullOr(MessageId),
  lastRole: Schema.NullOr(MessageRole),
  lastContent: Schema.NullOr(Schema.String),
  lastCreatedAt: Schema.NullOr(Schema.Date)
})
const inserted = firstRow(Schema.Struct({ id: Schema.String }))
const listed = rows(Listed)
const listedColumns = makeColumns(Listed, {
  agent,
  agentId,
  lastId: { read: "m.id" },
  lastRole: { read: "m.role" },
  lastContent: { read: "left(m.content, 200)" },
  lastCreatedAt: { read: "m.created_at" }
})

export const layer = Layer.effect(
  ConversationRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { query, read, sql } = database

    return ConversationRepo.of({
      ...Begin.make(database),
      ...Find.make(database),
      ...Messages.make(database),
      ...Turns.make(database),
      insert: (given) =>
        query(
          inserted(sql`
            with ${goneOf(sql, given)}
            ${insertSelect("conversations", columns.row(given), unlessGone(sql))} returning id`).pipe(
            orOnlyGone(sql, given),
            Effect.asVoid
          )
        ),
      list: ({ limit, offset, projectId, workspaceId }) =>
        read(
          workspaceId,
          Effect.map(
            listed(sql`
              select ${listedColumns.read("c")}
              from (
                select * from conversations
                where workspace_id = ${workspaceId} and deleted_at is null and not is_hidden
                ${projectId === undefined ? sql.literal("") : sql`and project_id = ${projectId}`}
                order by updated_at desc, id desc
                limit ${limit} offset ${offset}::bigint
              ) c
              left join agents a on a.id = c.agent_id and a.deleted_at is null
              left join lateral (
                select * from messages where conversation_id = c.id order by position desc limit 1
              ) m on true
              order by c.updated_at desc, c.id desc`),
            (found) =>
              found.map(({ lastContent, lastCreatedAt, lastId, lastRole, ...stored }) =>
                toConversation(
                  stored,
                  lastId === null || lastRole === null || lastContent === null || lastCreatedAt === null
                    ? []
                    : [{ id: lastId, role: lastRole, content: lastContent, createdAt: lastCreatedAt }]
                )
              )
          )
        ),
      setAgent: (id, agentId) =>
        query(
          inserted(sql`
            with ${goneOf(sql, { agentId })}
            update conversations set agent_id = ${agentId}
            where id = ${id} and deleted_at is null and not exists (select from gone) returning id`).pipe(
            orGone(sql, { agentId }, isThere(sql, "conversations", id)),
            Effect.asVoid
          )
        )
    })
  })
)
