import type { ConversationId, RunId } from "../../../../src/Schemas/Ids.ts"

const mostTurns = 50
const turnsKey = "agentd.turns"
const draftKey = (conversation: string) => `agentd.draft.${conversation}`

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
  localStorage.setItem(turnsKey, JSON.stringify([[conversation, turn], ...others].slice(0, mostTurns)))
}

/** What was typed and not sent; for as long as the window is there. */
export const draftOf = (conversation: string): string => sessionStorage.getItem(draftKey(conversation)) ?? ""

export const keepDraft = (conversation: string, text: string): void => {
  if (text === "") sessionStorage.removeItem(draftKey(conversation))
  else sessionStorage.setItem(draftKey(conversation), text)
}
