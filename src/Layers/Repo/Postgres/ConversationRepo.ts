import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import {
  HistoryEntry,
  Message,
  MessageRole,
  StoredConversation,
  toConversation
} from "../../../Schemas/Conversation.ts"
import { MessageId, RunId } from "../../../Schemas/Ids.ts"
import { ConversationRepo } from "../../../Services/ConversationRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const conversation = firstRow(StoredConversation)
const messages = rows(Message)
const history = rows(HistoryEntry)
const removed = firstRow(Schema.Struct({ turnId: Schema.NullOr(RunId) }))
const mostHistory = 1000
const listed = rows(
  Schema.Struct({
    ...StoredConversation.fields,
    lastId: Schema.NullOr(MessageId),
    lastRole: Schema.NullOr(MessageRole),
    lastContent: Schema.NullOr(Schema.String),
    lastCreatedAt: Schema.NullOr(Schema.Date)
  })
)

export const layer = Layer.effect(
  ConversationRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database

    const columns = sql.literal(`
      c.id, c.workspace_id as "workspaceId", c.project_id as "projectId", c.title,
      c.agent_id as "agentId",
      case when a.id is not null then json_build_object('id', a.id, 'name', a.name) end as "agent",
      c.owner_id as "ownerId", c.created_at as "createdAt", c.updated_at as "updatedAt"`)

    return ConversationRepo.of({
      insert: (given) =>
        run(
          Effect.asVoid(sql`
            insert into conversations (id, workspace_id, project_id, title, agent_id, owner_id,
              created_at, updated_at)
            values (${given.id}, ${given.workspaceId}, ${given.projectId}, ${given.title},
              ${given.agentId}, ${given.ownerId}, ${given.createdAt}, ${given.updatedAt})`)
        ),
      find: (id) =>
        run(
          conversation(sql`
            select ${columns} from conversations c left join agents a on a.id = c.agent_id
            where c.id = ${id}`)
        ),
      list: ({ limit, offset, projectId, workspaceId }) =>
        run(
          Effect.map(
            listed(sql`
              select ${columns}, m.id as "lastId", m.role as "lastRole", left(m.content, 200) as "lastContent",
                m.created_at as "lastCreatedAt"
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
      messages: (id) =>
        run(
          messages(sql`
            select id, role, content, created_at as "createdAt"
            from messages where conversation_id = ${id} order by position`)
        ),
      history: (id, maximumBytes) =>
        run(
          history(sql`
            select role, content, parts from (
              select *, sum(size) over (order by position desc) - size as newer from (
                select position, role, content, parts,
                  octet_length(content) + coalesce(octet_length(parts::text), 0) as size
                from messages where conversation_id = ${id} order by position desc limit ${mostHistory}
              ) newest
            ) sized
            where newer < ${maximumBytes}::bigint order by position`)
        ),
      addMessage: (id, message) =>
        run(
          returnedRow(sql`
            with touched as (
              update conversations set updated_at = ${message.createdAt} where id = ${id} returning id)
            insert into messages (id, conversation_id, role, content, created_at)
            select ${message.id}, id, ${message.role}, ${message.content}, ${message.createdAt} from touched
            returning id`)
        ),
      setAgent: (id, agentId) =>
        run(Effect.asVoid(sql`update conversations set agent_id = ${agentId} where id = ${id}`)),
      remove: (id) =>
        run(
          sql.withTransaction(
            // Whoever ends a turn holds its run first and then the conversation: so does this, of every run.
            Effect.andThen(
              sql`select from runs where conversation_id = ${id} order by id for update`,
              removed(sql`delete from conversations where id = ${id} returning turn_id as "turnId"`)
            )
          )
        ),
      claimTurn: (id, turnId) =>
        run(
          returnedRow(sql`
            update conversations set turn_id = ${turnId} where id = ${id} and turn_id is null returning id`)
        ),
      addReply: (id, reply, { parts, usage }) =>
        run(
          returnedRow(sql`
            with touched as (
              update conversations set updated_at = greatest(updated_at, ${reply.createdAt}::timestamptz) where id = ${id}
              returning id
            ), added as (
              insert into messages (id, conversation_id, role, content, created_at, parts, input_tokens,
                output_tokens)
              select ${reply.id}, id, ${reply.role}, ${reply.content}, ${reply.createdAt}, ${sql.json(parts)},
                ${usage.inputTokens}, ${usage.outputTokens}
              from touched
              on conflict (id) do nothing)
            select id from touched`)
        )
    })
  })
)
