import type { RunStatus } from "../../../src/Schemas/Run.ts"

const words: Record<RunStatus, { readonly word: string; readonly mark: string; readonly tone: Tone }> = {
  PENDING: { word: "Pending", mark: "○", tone: "idle" },
  RUNNING: { word: "Running", mark: "◐", tone: "run" },
  WAITING_APPROVAL: { word: "Waiting", mark: "‖", tone: "wait" },
  COMPLETED: { word: "Completed", mark: "✓", tone: "ok" },
  FAILED: { word: "Failed", mark: "✕", tone: "bad" },
  CANCELLED: { word: "Cancelled", mark: "⊘", tone: "idle" }
}

export type Tone = "ok" | "bad" | "warn" | "wait" | "run" | "idle"

/** A state in a word, with a mark and a colour: never the colour alone. */
export const Badge = ({
  tone,
  mark,
  children,
  title
}: {
  readonly tone: Tone
  readonly mark?: string
  readonly children: string
  readonly title?: string
}) => (
  <span class={`badge badge-${tone}`} title={title}>
    {mark !== undefined && <span aria-hidden="true">{mark}</span>}
    <span>{children}</span>
  </span>
)

export const Status = ({ status }: { readonly status: RunStatus }) => {
  const { mark, tone, word } = words[status]
  return (
    <Badge tone={tone} mark={mark}>
      {word}
    </Badge>
  )
}

export const statusWord = (status: RunStatus): string => words[status].word
