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
