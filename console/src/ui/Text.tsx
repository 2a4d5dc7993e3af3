import { useMemo, useState } from "preact/hooks"
import { bytes } from "../Format.ts"
import { Button } from "./Button.tsx"
import { Copy } from "./Copy.tsx"

const mostFolded = 2_000
const mostShown = 200_000

/** What surely fits without scrolling is no stop of the Tab key. */
const mayScroll = (text: string): boolean => text.length > 400 || text.split("\n", 9).length > 8

interface Props {
  readonly text: string
  /** Characters that are shown before it is asked for the rest. */
  readonly folded?: number
  readonly isCode?: boolean
  readonly label?: string
}

/** A text of any length as it is: the rest on demand, a piece at a time where it is very long. */
export const LongText = ({ text, folded = mostFolded, isCode = false, label }: Props) => {
  const [pieces, setPieces] = useState(0)
  const isOpen = pieces > 0
  const isLong = text.length > folded
  const most = isOpen ? pieces * mostShown : folded
  const shown = text.length > most ? `${text.slice(0, most)}…` : text
  return (
    <div class={`long-text ${isCode ? "code" : ""}`}>
      {mayScroll(shown) ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
        <section class="long-text-body" tabIndex={0} aria-label={label ?? "Text"}>
          <pre>{shown}</pre>
        </section>
      ) : (
        <div class="long-text-body">
          <pre>{shown}</pre>
        </div>
      )}
      <div class="long-text-foot">
        {isLong && (
          <Button kind="quiet" aria-expanded={isOpen} onClick={() => setPieces(isOpen ? 0 : 1)}>
            {isOpen
              ? "Show less"
              : `${text.length > mostShown ? "Show more" : "Show all"} (${bytes(text.length)})`}
          </Button>
        )}
        {isOpen && text.length > most && (
          <Button kind="quiet" onClick={() => setPieces(pieces + 1)}>
            Show more ({bytes(text.length - most)} left)
          </Button>
        )}
        {(isCode || isLong) && <Copy text={text} />}
      </div>
    </div>
  )
}

/** A JSON value, indented. */
export const Json = ({ value, label }: { readonly value: unknown; readonly label?: string }) => {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "null", [value])
  return <LongText text={text} isCode {...(label !== undefined && { label })} />
}
