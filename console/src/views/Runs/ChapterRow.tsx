import { useId } from "preact/hooks"
import { cost, count, duration } from "../../Format.ts"
import { ChapterBody } from "./ChapterBody.tsx"
import type { Live } from "./Live.ts"
import type { Chapter } from "./Story.ts"
import { type Axis, barOf } from "./Waterfall.ts"

interface Props {
  readonly chapter: Chapter
  readonly axis: Axis
  readonly isOpen: boolean
  readonly live: Live | undefined
  readonly onToggle: () => void
}

const marks = { queued: "○", model: "◆", tool: "ƒ", approval: "‖", mark: "↻" } as const
const words = { ok: "", bad: "failed", cancelled: "not finished", open: "goes on" } as const

const stateOf = ({ isWait, state }: Chapter): string => (state === "open" && isWait ? "waits" : words[state])

const tokensOf = ({ body }: Chapter): string | undefined =>
  body.type === "model" && body.step !== undefined
    ? `${count(body.step.usage.inputTokens)} → ${count(body.step.usage.outputTokens)}`
    : undefined

const costOf = ({ body }: Chapter): string | undefined =>
  body.type === "model" && body.costUsd != null ? cost(body.costUsd) : undefined

/** A row of the waterfall: a button that opens what there is to know, and its bar along time. */
export const ChapterRow = ({ chapter, axis, isOpen, live, onToggle }: Props) => {
  const id = useId()
  const { from, isUnder, kind, state, title, to } = chapter
  const { left, width } = barOf(axis, chapter)
  const took = duration((to ?? axis.to) - from)
  const tokens = tokensOf(chapter)
  const price = costOf(chapter)
  const said = stateOf(chapter)
  const begun = duration(from - axis.from)
  return (
    <li class={`step step-of-${kind} step-is-${state}`}>
      <button type="button" class="step-row" aria-expanded={isOpen} aria-controls={id} onClick={onToggle}>
        <span class={isUnder ? "step-name step-under" : "step-name"}>
          <span class="step-mark" aria-hidden="true">
            {marks[kind]}
          </span>
          {kind === "tool" && <span class="visually-hidden">Tool call: </span>}
          <span class="step-title">{title}</span>
          {said !== "" && <span class={`step-state step-state-${state}`}>{said}</span>}
        </span>
        <span class="steps-track" aria-hidden="true">
          <span class="step-bar" style={{ left: `${left}%`, width: `${width}%` }} />
        </span>
        <span class="step-took number">
          <span class="visually-hidden">, after {begun}, took </span>
          {kind === "mark" ? begun : took}
        </span>
        <span class="step-tokens number">
          {tokens !== undefined && (
            <>
              <span class="visually-hidden">, tokens in and out: </span>
              {tokens}
            </>
          )}
        </span>
        <span class="step-cost number">{price}</span>
      </button>
      {isOpen && (
        <div class="step-body" id={id}>
          <ChapterBody chapter={chapter} live={live} />
        </div>
      )}
    </li>
  )
}
