import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core"
import type { ComponentChildren, RefObject } from "preact"
import { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks"

export interface VirtualControl {
  /** Scrolls as far as is needed to see a row. */
  readonly toIndex: (index: number) => void
  readonly toTop: () => void
}

interface Props {
  readonly label: string
  readonly count: number
  /** The height of a row in pixels: all have the same. */
  readonly rowHeight: number
  readonly keyOf: (index: number) => string
  readonly row: (index: number) => ComponentChildren
  /** Called when the last rows come near, as long as they do. */
  readonly onEnd?: () => void
  /** Pixels from the top, to begin with and told on scrolling. */
  readonly offset?: number
  readonly onOffset?: (offset: number) => void
  /** Told which rows are seen. */
  readonly onRange?: (first: number, last: number) => void
  readonly control?: RefObject<VirtualControl | null>
}

/** How many rows before the last one more are asked for. */
const endRows = 60

/** How many rows may come or go above what is seen at once, without moving it. */
const mostMoved = 1_000

/** Where a row is now that was at `index`. */
const indexOf = (key: string, index: number, count: number, keyOf: Props["keyOf"]): number | undefined => {
  for (let away = 0; away <= mostMoved; away++) {
    if (index + away < count && keyOf(index + away) === key) return index + away
    if (index - away >= 0 && index - away < count && keyOf(index - away) === key) return index - away
  }
  return undefined
}

/**
 * Of these lists the rows that are seen, and some beside, are in the page alone. It fills the height that it is given. What is
 * seen stays where it is when rows come or go above it, unless that is the top.
 */
export const VirtualList = (props: Props) => {
  const { control, count, keyOf, label, offset, onEnd, onOffset, onRange, row, rowHeight } = props
  const box = useRef<HTMLDivElement>(null)
  const anchor = useRef<{ readonly key: string; readonly index: number } | undefined>(undefined)
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0)
  const options = {
    count,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    getScrollElement: () => box.current,
    initialOffset: offset ?? 0,
    observeElementOffset,
    observeElementRect,
    onChange: redraw,
    overscan: 12,
    scrollToFn: elementScroll
  } as const
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is made once, and told what is new below
  const virtualizer = useMemo(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options), [])
  virtualizer.setOptions({ ...virtualizer.options, ...options })
  useEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes are kept by key, and all are others now
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight])

  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  const from = virtualizer.range?.startIndex ?? 0
  const to = virtualizer.range?.endIndex ?? 0
  useEffect(() => {
    if (count > 0 && last >= count - 1 - endRows) onEnd?.()
  }, [last, count, onEnd])
  useEffect(() => onRange?.(from, to), [from, to, onRange])

  useLayoutEffect(() => {
    const element = box.current
    const before = anchor.current
    if (element === null) return
    if (before !== undefined && element.scrollTop > 0) {
      const now = indexOf(before.key, before.index, count, keyOf)
      if (now !== undefined && now !== before.index) element.scrollTop += (now - before.index) * rowHeight
    }
    const index = Math.floor(element.scrollTop / rowHeight)
    anchor.current = index < count ? { key: keyOf(index), index } : undefined
  })

  useImperativeHandle(
    control ?? null,
    () => ({
      toIndex: (index) => virtualizer.scrollToIndex(index),
      toTop: () => {
        anchor.current = undefined
        box.current?.scrollTo({ top: 0 })
      }
    }),
    [virtualizer]
  )

  return (
    <div
      ref={box}
      class="virtual"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
      tabIndex={0}
      onScroll={(event) => onOffset?.(event.currentTarget.scrollTop)}
    >
      <ul class="virtual-inside" aria-label={label} style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {items.map((item) => (
          <li
            key={item.key}
            class="virtual-row"
            aria-setsize={count}
            aria-posinset={item.index + 1}
            style={{ height: `${item.size}px`, transform: `translateY(${item.start}px)` }}
          >
            {row(item.index)}
          </li>
        ))}
      </ul>
    </div>
  )
}
