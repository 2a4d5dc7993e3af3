interface Identified<Id> {
  readonly id: Id
}

/** The one that is selected: the wanted one while it waits, or else the oldest. */
export const selectedOf = <Id>(
  waiting: ReadonlyArray<Identified<Id>>,
  wanted: Id | undefined
): Id | undefined => waiting.find(({ id }) => id === wanted)?.id ?? waiting[0]?.id

/** Which comes to be selected when this one goes: the next, or the one before where it was the last. */
export const neighbourOf = <Id>(waiting: ReadonlyArray<Identified<Id>>, gone: Id): Id | undefined => {
  const index = waiting.findIndex(({ id }) => id === gone)
  return (waiting[index + 1] ?? waiting[index - 1])?.id
}

export const keys = [
  { key: "j", does: "The next one; the arrow down does the same" },
  { key: "k", does: "The one before; the arrow up does the same" },
  { key: "a", does: "Approve the selected one" },
  { key: "r", does: "Give a reason, and reject with Enter" },
  { key: "o", does: "Open its run" },
  { key: "?", does: "These keys" }
] as const

type Key = (typeof keys)[number]["key"]

const same: Readonly<Record<string, string>> = { ArrowDown: "j", ArrowUp: "k" }

/** Which of the keys was pressed: none where something is typed, with a modifier, or held down (a decision is one press). */
export const whichKey = (
  event: Pick<KeyboardEvent, "altKey" | "ctrlKey" | "key" | "metaKey" | "repeat" | "target">
): Key | undefined => {
  const { target } = event
  const isTyping =
    target instanceof Element && target.closest("input, select, textarea, dialog, .long-text-body") !== null
  if (isTyping || event.altKey || event.ctrlKey || event.metaKey) return undefined
  const found = keys.find(({ key }) => key === (same[event.key] ?? event.key))?.key
  return event.repeat && found !== "j" && found !== "k" ? undefined : found
}
