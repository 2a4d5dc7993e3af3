import * as Effect from "effect/Effect"
import type { Unavailable } from "../../src/Schemas/Errors.ts"
import type { ConversationId } from "../../src/Schemas/Ids.ts"
import type { User } from "../../src/Schemas/User.ts"
import type { Chat } from "../../src/Services/Chat.ts"
import type { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import type { Listing } from "../../src/Services/Listing.ts"
import type { Pages } from "../../src/Services/Pages.ts"

const whole = { after: null, until: null, limit: 1_000 }

/** What a repository lists, where that is not much. */
export const listed = <A, F>(repo: Pages<A, F>, filter: F) =>
  Effect.map(repo.page(filter, whole), ({ rows }) => rows)

export const messagesOf = (repo: ConversationRepo["Service"], id: ConversationId) =>
  Effect.map(repo.messages(id, whole), ({ rows }) => rows)

/** What a caller is shown of a list, where that is not much. */
export const listedFor = <A, F, E = Unavailable>(
  service: { readonly list: (user: User, filter: F) => Effect.Effect<Listing<A>, E> },
  user: User,
  filter: F
) => Effect.map(service.list(user, filter), ({ first }) => first)

/** A conversation that is not long, as a caller is shown it. */
export const readChat = (chat: Chat["Service"], user: User, id: ConversationId) =>
  Effect.map(chat.get(user, id), ({ conversation, messages }) => ({
    ...conversation,
    messages: messages.first
  }))
