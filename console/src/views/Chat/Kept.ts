import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SendMessage } from "../../../../src/Schemas/Conversation.ts"
import type { ConversationId, RunId } from "../../../../src/Schemas/Ids.ts"

const mostTurns = 50
const turnsKey = "agentd.turns"
const draftKey = (talk: string) => `agentd.draft.${talk}`
const unsentKey = (talk: string) => `agentd.unsent.${talk}`

/** A store that is full or forbidden keeps nothing, and is no reason to stop. */
const put = (store: Storage, key: string, text: string | undefined): void => {
  try {
    if (text === undefined || text === "") store.removeItem(key)
    else store.setItem(key, text)
  } catch {}
}

const read = (): ReadonlyArray<readonly [string, string]> => {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(turnsKey) ?? "[]")
    return Array.isArray(found) ? found.filter((each) => Array.isArray(each) && each.length === 2) : []
  } catch {
    return []
  }
}

/** The latest turn of a conversation that was begun in this browser: the API tells of messages alone. */
export const turnOf = (conversation: ConversationId): RunId | undefined =>
  read().find(([id]) => id === conversation)?.[1] as RunId | undefined

/** Remembers which turn answers in a conversation, for a page that is loaded again. */
export const keepTurn = (conversation: ConversationId, turn: RunId): void => {
  const others = read().filter(([id]) => id !== conversation)
  put(localStorage, turnsKey, JSON.stringify([[conversation, turn], ...others].slice(0, mostTurns)))
}

/** What was typed and not sent; for as long as the window is there. */
export const draftOf = (talk: string): string => sessionStorage.getItem(draftKey(talk)) ?? ""

export const keepDraft = (talk: string, text: string): void => put(sessionStorage, draftKey(talk), text)

const Unsent = Schema.Struct({ key: Schema.String, payload: SendMessage })

/** A message that nobody has said was taken, and the key under which it may be sent again and is one. */
export type Unsent = typeof Unsent.Type

const decode = Schema.decodeUnknownOption(Schema.toCodecJson(Schema.fromJsonString(Unsent)))

/** The message of a page that went before it had an answer. */
export const unsentOf = (talk: string): Unsent | undefined =>
  Option.getOrUndefined(decode(sessionStorage.getItem(unsentKey(talk))))

export const keepUnsent = (talk: string, unsent: Unsent | undefined): void =>
  put(sessionStorage, unsentKey(talk), unsent && JSON.stringify(unsent))
