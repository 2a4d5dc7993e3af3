import * as Effect from "effect/Effect"
import { InvalidInput } from "../../Schemas/Errors.ts"
import type { ConversationId, MessageId } from "../../Schemas/Ids.ts"
import { ConversationRepo } from "../ConversationRepo.ts"
import * as Listing from "../Listing.ts"

/** Which messages of a conversation. */
export interface MessagesQuery {
  readonly limit?: number | undefined
  readonly before?: MessageId | undefined
}

/** Lists the messages of a conversation, from its end. */
export const make = Effect.gen(function* () {
  const conversations = yield* ConversationRepo

  return (id: ConversationId, { before, limit }: MessagesQuery) =>
    Listing.make({
      limit,
      first: (most) => conversations.newest(id, { before: before ?? null, limit: most }),
      extent: conversations.extent(id, { before: before ?? null, limit }),
      slice: (range) => conversations.messages(id, range)
    }).pipe(
      Effect.catchTag(
        "ReferenceGone",
        () => new InvalidInput({ error: "before: is no message of this conversation" })
      )
    )
})
