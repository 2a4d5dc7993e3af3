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

const marks = { queued: "○", takeover: "↻", model: "◆", tool: "ƒ", approval: "‖" } as const
const words = { ok: "", bad: "failed", cancelled: "not finished", open: "goes on" } as const
const decisions = {
  PENDING: "waits",
  APPROVED: "approved",
  REJECTED: "rejected",
  EXPIRED: "expired"
} as const

const stateOf = ({ body, isWait, kind, state }: Chapter): string => {
  if (kind === "takeover") return ""
  if (state !== "cancelled" && body.type === "approval") return decisions[body.span.status]
  return state === "open" && isWait ? "waits" : words[state]
}

const tokensOf = ({ body }: Chapter): string | undefined =>
  body.type === "model" && body.span !== undefined
    ? `${count(body.span.inputTokens)} → ${count(body.span.outputTokens)}`
    : undefined

const costOf = ({ body }: Chapter): string | undefined =>
  body.type === "model" && body.span !== undefined ? cost(body.span.costUsd) : undefined

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
          <span class="step-title" title={title}>
            {title}
          </span>
          {said !== "" && <span class={`step-state step-state-${state}`}>{said}</span>}
        </span>
        <span class="steps-track" aria-hidden="true">
          <span class="step-bar" style={{ left: `${left}%`, width: `${width}%` }} />
        </span>
        <span class="step-took number">
          <span class="visually-hidden">, after {begun}, took </span>
          {took}
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
