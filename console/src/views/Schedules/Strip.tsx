import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { CronFire } from "../../../../src/Schemas/CronFire.ts"
import { href } from "../../Router.ts"
import { countKinds, kindOf, lagWords, looks, move, type Statuses, summary } from "./Slots.ts"
import { clockText, ownZone } from "./Zones.ts"

interface Props {
  /** Newest first, as the ledger has them. */
  readonly fires: ReadonlyArray<CronFire>
  readonly statuses: Statuses
  readonly timeZone: string
}

/** How many cells stand side by side now. */
const columnsOf = (cells: ReadonlyArray<HTMLElement>): number => {
  const top = cells[0]?.offsetTop
  const next = cells.findIndex(({ offsetTop }) => offsetTop !== top)
  return next === -1 ? cells.length : next
}

const cellsOf = (box: HTMLElement | null): ReadonlyArray<HTMLElement> =>
  box === null ? [] : [...box.querySelectorAll<HTMLElement>("[data-slot]")]

const slotOf = (target: EventTarget | null): number | undefined => {
  const cell = target instanceof Element ? target.closest("[data-slot]") : null
  const slot = cell?.getAttribute("data-slot")
  return slot === null || slot === undefined ? undefined : Number(slot)
}

/** The word of a slot, and that it was made up where it was. */
const wordOf = (fire: CronFire, statuses: Statuses): string => {
  const { word } = looks[kindOf(fire, statuses)]
  return fire.outcome === "backfilled" ? `${word}, made up afterwards` : word
}

/**
 * What became of hundreds of slots at a glance, oldest first: each with a run leads to it. One of the cells is in the
 * order of focus, and the arrow keys go on from there.
 */
export const Strip = ({ fires, statuses, timeZone }: Props) => {
  const box = useRef<HTMLUListElement>(null)
  const [chosen, setChosen] = useState<number>()
  const [looked, setLooked] = useState<number>()
  const slots = useMemo(() => [...fires].reverse(), [fires])
  const known = slots.findIndex(({ scheduledAt }) => scheduledAt.getTime() === chosen)
  const active = known === -1 ? slots.length - 1 : known

  const cells = useMemo(
    () =>
      slots.map((fire, index) => {
        const kind = kindOf(fire, statuses)
        const name = `slot slot-${kind}${fire.outcome === "backfilled" ? " slot-made-up" : ""}`
        const label = `${clockText(fire.scheduledAt, timeZone)}: ${wordOf(fire, statuses)}`
        const common = {
          class: name,
          "data-slot": fire.scheduledAt.getTime(),
          "aria-label": label,
          tabIndex: index === active ? 0 : -1
        }
        const { mark } = looks[kind]
        return (
          <li key={fire.scheduledAt.getTime()}>
            {fire.runId === null ? (
              <button type="button" {...common}>
                {mark}
              </button>
            ) : (
              <a {...common} href={href(["runs", fire.runId])}>
                {mark}
              </a>
            )}
          </li>
        )
      }),
    [slots, statuses, timeZone, active]
  )

  // The newest is at the end: it is seen, unless somebody has scrolled away from it.
  const isAtEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about what is shown of them
  useLayoutEffect(() => {
    const element = box.current
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [slots])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const all = cellsOf(box.current)
    const from = all.findIndex((cell) => cell.contains(document.activeElement))
    if (from === -1) return
    const to = move(event.key, from, all.length, columnsOf(all))
    if (to === undefined) return
    event.preventDefault()
    all[to]?.focus()
  }
  const shown = slots.find(({ scheduledAt }) => scheduledAt.getTime() === (looked ?? chosen))

  return (
    <div class="slots">
      <p class="visually-hidden">{summary(fires, statuses)} Arrow keys move through them.</p>
      {/* biome-ignore lint/a11y/useKeyWithMouseEvents: focus is listened to where it can be, on its way down */}
      <ul
        ref={box}
        class="slots-strip"
        aria-label="Past slots, oldest first"
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24
        }}
        onFocusCapture={(event) => setChosen(slotOf(event.target))}
        onMouseOver={(event) => setLooked(slotOf(event.target))}
        onMouseLeave={() => setLooked(undefined)}
      >
        {cells}
      </ul>
      <Looked
        fire={shown ?? fires[0]}
        isNewest={shown === undefined}
        statuses={statuses}
        timeZone={timeZone}
      />
      <Legend fires={fires} statuses={statuses} />
    </div>
  )
}

interface LookedProps {
  readonly fire: CronFire | undefined
  readonly isNewest: boolean
  readonly statuses: Statuses
  readonly timeZone: string
}

/** The slot that is pointed at, in words; the newest one otherwise. Its place is always there, so that nothing moves. */
const Looked = ({ fire, isNewest, statuses, timeZone }: LookedProps) => {
  const own = ownZone()
  if (fire === undefined) return null
  return (
    <p class="slots-looked">
      {isNewest && <span class="muted">Newest: </span>}
      <strong class="number">{clockText(fire.scheduledAt, timeZone)}</strong>
      {own !== timeZone && <span class="muted number"> · {clockText(fire.scheduledAt, own)} here</span>}
      <span> · {wordOf(fire, statuses)}</span>
      <span class="muted"> · {lagWords(fire)}</span>
    </p>
  )
}

const Legend = ({
  fires,
  statuses
}: {
  readonly fires: ReadonlyArray<CronFire>
  readonly statuses: Statuses
}) => {
  const madeUp = fires.filter(({ outcome }) => outcome === "backfilled").length
  return (
    <ul class="slots-legend" aria-label="Legend">
      {countKinds(fires, statuses).map(([kind, count]) => (
        <li key={kind}>
          <span class={`slot slot-${kind}`} aria-hidden="true">
            {looks[kind].mark}
          </span>
          {looks[kind].word} <span class="number muted">{count}</span>
        </li>
      ))}
      {madeUp > 0 && (
        <li>
          <span class="slot slot-fired slot-made-up" aria-hidden="true" />
          of these made up afterwards <span class="number muted">{madeUp}</span>
        </li>
      )}
    </ul>
  )
}

/** The newest slots of a job in one line, for a list of jobs. */
export const ShortStrip = ({
  fires,
  statuses,
  most
}: {
  readonly fires: ReadonlyArray<CronFire>
  readonly statuses: Statuses
  readonly most: number
}) => {
  const shown = useMemo(() => fires.slice(0, most).reverse(), [fires, most])
  return (
    <span
      class="slots-short"
      role="img"
      aria-label={summary(shown, statuses)}
      title={summary(shown, statuses)}
    >
      {shown.map((fire) => {
        const kind = kindOf(fire, statuses)
        return (
          <span
            key={fire.scheduledAt.getTime()}
            class={`slot slot-${kind}${fire.outcome === "backfilled" ? " slot-made-up" : ""}`}
          >
            {looks[kind].mark}
          </span>
        )
      })}
    </span>
  )
}
