import { useMemo, useState } from "preact/hooks"
import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import type { RunTimeline } from "../../../../src/Schemas/RunTimeline.ts"
import { duration } from "../../Format.ts"
import { Button } from "../../ui/Button.tsx"
import { ChapterRow } from "./ChapterRow.tsx"
import type { Live } from "./Live.ts"
import { answersOf, storyOf } from "./Story.ts"
import { useTick } from "./useTick.ts"
import { axisOf, ticksOf } from "./Waterfall.ts"

interface Props {
  readonly run: RunDetail
  readonly timeline: RunTimeline
  readonly live: Live
}

const tickMillis = 250
/** So many rows are in the page at first. */
const firstRows = 200

/** Arrows go from row to row. */
const walk = (event: KeyboardEvent) => {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
  if (by === 0 || !(event.target instanceof HTMLElement && event.target.matches(".step-row"))) return
  const rows = [...document.querySelectorAll<HTMLElement>(".step-row")]
  rows[rows.indexOf(event.target) + by]?.focus()
  event.preventDefault()
}

/** The steps of a run as a list whose rows have their place along time. */
export const Steps = ({ run, timeline, live }: Props) => {
  const [opened, setOpened] = useState<Readonly<Record<string, boolean>>>({})
  const [isWhole, setWhole] = useState(false)
  const isActive = !isTerminal(run.status)
  const now = useTick(isActive, tickMillis)
  const { phase } = live
  const story = useMemo(() => storyOf(run, timeline, phase), [run, timeline, phase])
  const axis = axisOf(story, Math.max(now, Date.now()))
  const ticks = ticksOf(axis, duration)
  const shown = isWhole ? story : story.slice(Math.max(0, story.length - firstRows))
  const hidden = story.length - shown.length
  const isForgotten = run.steps.length === 0 && !isActive && run.usage.outputTokens > 0
  return (
    <>
      {isForgotten && <p class="muted">Its steps are no longer kept.</p>}
      {hidden > 0 && <Button onClick={() => setWhole(true)}>Show the first {hidden} rows as well</Button>}
      <div class="steps panel">
        <div class="steps-axis" aria-hidden="true">
          <div class="steps-track">
            {ticks.map(({ at, label, left }) => (
              <span key={at} class="steps-tick" style={{ left: `${left}%` }}>
                {label}
              </span>
            ))}
          </div>
          <span class="steps-columns">
            <span>Time</span>
            <span>Tokens</span>
            <span class="step-cost">Cost</span>
          </span>
        </div>
        <div class="steps-grid" aria-hidden="true">
          {ticks.map(({ at, left }) => (
            <span key={at} class="steps-line" style={{ left: `${left}%` }} />
          ))}
          {axis.pieces
            .filter(({ isFolded }) => isFolded)
            .map(({ from, left, to, width }) => (
              <span
                key={from}
                class="steps-fold"
                title={`${duration(to - from)} without work`}
                style={{ left: `${left}%`, width: `${width}%` }}
              />
            ))}
        </div>
        <ol class="steps-rows" onKeyDown={walk}>
          {shown.map((chapter) => {
            const isSpeaking = chapter.kind === "model" && chapter.state === "open"
            const isOpen = opened[chapter.key] ?? (isSpeaking && live.text !== "")
            const said = isSpeaking && live.answers === answersOf(run) ? live : undefined
            return (
              <ChapterRow
                key={chapter.key}
                chapter={chapter}
                axis={axis}
                isOpen={isOpen}
                live={said}
                onToggle={() => setOpened({ ...opened, [chapter.key]: !isOpen })}
              />
            )
          })}
        </ol>
      </div>
    </>
  )
}
