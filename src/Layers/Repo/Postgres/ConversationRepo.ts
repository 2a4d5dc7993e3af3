import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { AgentReference } from "../../../Schemas/Agent.ts"
import { MessageRole, StoredConversation, toConversation } from "../../../Schemas/Conversation.ts"
import { type ConversationId, MessageId, RunId } from "../../../Schemas/Ids.ts"
import { ConversationRepo } from "../../../Services/ConversationRepo.ts"
import { makeColumns, referenceOf } from "./Columns.ts"
import * as Messages from "./ConversationRepo/Messages.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const conversation = firstRow(StoredConversation)
const agent = { read: referenceOf(AgentReference, "a") }
const columns = makeColumns(StoredConversation, { agent })
const Removed = Schema.Struct({ turnId: Schema.NullOr(RunId) })
const removed = firstRow(Removed)
const Listed = Schema.Struct({
  ...StoredConversation.fields,
  lastId: Schema.NullOr(MessageId),
  lastRole: Schema.NullOr(MessageRole),
  lastContent: Schema.NullOr(Schema.String),
  lastCreatedAt: Schema.NullOr(Schema.Date)
})
const listed = rows(Listed)
const listedColumns = makeColumns(Listed, {
  agent,
  lastId: { read: "m.id" },
  lastRole: { read: "m.role" },
  lastContent: { read: "left(m.content, 200)" },
  lastCreatedAt: { read: "m.created_at" }
})

export const layer = Layer.effect(
  ConversationRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { query, sql } = database

    /** What a turn that begins and the removal of its conversation both lock. */
    const turnsOf = (id: ConversationId) => sql`hashtextextended(${id}, 0)`

    return ConversationRepo.of({
      ...Messages.make(database),
      insert: (given) =>
        query(Effect.asVoid(sql`insert into conversations ${sql.insert(columns.row(given))}`)),
      find: (id) =>
        query(
          conversation(sql`
            select ${columns.read("c")} from conversations c left join agents a on a.id = c.agent_id
            where c.id = ${id}`)
        ),
      list: ({ limit, offset, projectId, workspaceId }) =>
        query(
          Effect.map(
            listed(sql`
              select ${listedColumns.read("c")}
              from (
                select * from conversations
                where workspace_id = ${workspaceId}
                ${projectId === undefined ? sql.literal("") : sql`and project_id = ${projectId}`}
                order by updated_at desc, id desc
                limit ${limit} offset ${offset}::bigint
              ) c
              left join agents a on a.id = c.agent_id
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
        query(Effect.asVoid(sql`update conversations set agent_id = ${agentId} where id = ${id}`)),
      remove: (id) =>
        query(
          sql.withTransaction(
            // Whoever ends a turn holds its run first and then the conversation: so does this, of every run. No turn
            // may begin meanwhile, of which it would hold the conversation first.
            Effect.gen(function* () {
              yield* sql`select pg_advisory_xact_lock(${turnsOf(id)})`
              yield* sql`select from runs where conversation_id = ${id} order by id for update`
              return yield* removed(
                sql`delete from conversations where id = ${id} returning ${makeColumns(Removed, {}).read()}`
              )
            })
          )
        ),
      claimTurn: (id, turnId) =>
        query(
          returnedRow(sql`
            with beginning as materialized (select pg_advisory_xact_lock_shared(${turnsOf(id)}))
            update conversations set turn_id = ${turnId} from beginning
            where id = ${id} and turn_id is null returning id`)
        )
    })
  })
)
