import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core"
import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks"

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
}

/** Of these lists the rows that are seen, and some beside, are in the page alone. It fills the height that it is given. */
export const VirtualList = ({ count, keyOf, label, offset, onEnd, onOffset, row, rowHeight }: Props) => {
  const box = useRef<HTMLDivElement>(null)
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

  const items = virtualizer.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  useEffect(() => {
    if (count > 0 && last >= count - 1 - 20) onEnd?.()
  }, [last, count, onEnd])

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
