import { useEffect, useRef } from "preact/hooks"

interface Keys {
  readonly next?: () => void
  readonly previous?: () => void
  readonly open?: () => void
  readonly find?: () => void
}

/** Where keys mean something else: what is typed into, and dialogs. */
const isElsewhere = (target: Element | undefined): boolean =>
  target?.closest("input, select, textarea, [contenteditable]") != null ||
  document.querySelector("dialog[open]") !== null

/** Arrows and Enter are the list's where nothing else has the focus. */
const isOfList = (target: Element | undefined): boolean =>
  target === undefined || target === document.body || target.closest(".runs-box") !== null

const actOf = ({ find, next, open, previous }: Keys, key: string, target: Element | undefined) => {
  if (key === "j" || (key === "ArrowDown" && isOfList(target))) return next
  if (key === "k" || (key === "ArrowUp" && isOfList(target))) return previous
  if (key === "/") return find
  return key === "Enter" && isOfList(target) && target?.closest("a, button") == null ? open : undefined
}

/** j and k or the arrows go through a list, Enter opens what they are at (as a link does by itself), `/` leads to its filters. */
export const useKeys = (keys: Keys): void => {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : undefined
      if (event.ctrlKey || event.metaKey || event.altKey || isElsewhere(target)) return
      const act = actOf(latest.current, event.key, target)
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [])
}
