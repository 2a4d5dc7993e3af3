interface Identified<Id> {
  readonly id: Id
}

/**
 * The one that is selected: the wanted one while it waits, and the oldest as long as nobody wants one. Where the wanted one
 * went by itself none is: a key that was meant for it decides about no other.
 */
export const selectedOf = <Id>(
  waiting: ReadonlyArray<Identified<Id>>,
  wanted: Id | undefined
): Id | undefined => (wanted === undefined ? waiting[0]?.id : waiting.find(({ id }) => id === wanted)?.id)

/** Those that waited and no longer do, so that others have moved to where they were. */
export const goneOf = <A extends Identified<unknown>>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const left = new Set(after.map(({ id }) => id))
  return before.filter(({ id }) => !left.has(id))
}

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
  const isWithin = (selector: string) => target instanceof Element && target.closest(selector) !== null
  const isScrolling = event.key in same && isWithin(".long-text-body")
  if (
    isWithin("input, select, textarea, dialog") ||
    isScrolling ||
    event.altKey ||
    event.ctrlKey ||
    event.metaKey
  )
    return undefined
  const found = keys.find(({ key }) => key === (same[event.key] ?? event.key))?.key
  return event.repeat && found !== "j" && found !== "k" ? undefined : found
}
