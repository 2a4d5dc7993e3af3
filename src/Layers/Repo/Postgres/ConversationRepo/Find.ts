import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AgentReference } from "../../../../Schemas/Agent.ts"
import { StoredConversation } from "../../../../Schemas/Conversation.ts"
import { RunId } from "../../../../Schemas/Ids.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import { makeColumns, referenceOf } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { isThere } from "../Removed.ts"
import { firstRow } from "../Rows.ts"

const conversation = firstRow(StoredConversation)
const shown = makeColumns(StoredConversation, {
  agent: { read: referenceOf(AgentReference, "a") },
  agentId: { read: "a.id" }
}).read("c")
const run = firstRow(Schema.Struct({ id: RunId }))

/** A conversation by what it is called, and its latest turn. */
export const make = ({
  lookUp,
  sql
}: Database["Service"]): Pick<ConversationRepo["Service"], "find" | "findChat" | "latestTurn"> => {
  const found = sql`
    select ${shown} from conversations c
    left join agents a on a.id = c.agent_id and a.deleted_at is null
    where c.deleted_at is null`
  return {
    find: (id) => lookUp(conversation(sql`${found} and c.id = ${id}`)),
    findChat: ({ chatId, ownerId, workspaceId }) =>
      lookUp(
        conversation(sql`
          ${found} and c.workspace_id = ${workspaceId} and c.owner_id = ${ownerId} and c.chat_id = ${chatId}`)
      ),
    latestTurn: (id) =>
      Effect.map(
        lookUp(
          run(sql`
            select id from runs where conversation_id = ${id} and ${isThere(sql, "conversations", id)}
            order by created_at desc, id desc limit 1`)
        ),
        Option.map(({ id }) => id)
      )
  }
}
