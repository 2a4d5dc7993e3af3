import type { ComponentChildren } from "preact"
import type { Problem } from "../Client.ts"
import { Button } from "./Button.tsx"

interface Props {
  readonly kind?: "bad" | "warn" | "ok" | "info"
  readonly title?: string
  readonly children?: ComponentChildren
}

const marks = { bad: "✕", warn: "!", ok: "✓", info: "i" } as const

/** Something to be told, where it belongs; what went wrong is read out at once. */
export const Notice = ({ kind = "info", title, children }: Props) => (
  <div class={`notice notice-${kind}`} role={kind === "bad" ? "alert" : "status"}>
    <span class="notice-mark" aria-hidden="true">
      {marks[kind]}
    </span>
    <div>
      {title !== undefined && <strong>{title}</strong>}
      {children !== undefined && <div>{children}</div>}
    </div>
  </div>
)

/** What the service says went wrong, with a way to try again. */
export const ProblemNotice = ({
  problem,
  onRetry
}: {
  readonly problem: Problem | undefined
  readonly onRetry?: (() => void) | undefined
}) =>
  problem === undefined ? null : (
    <Notice kind="bad">
      {problem.message} {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  )
