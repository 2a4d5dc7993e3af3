import type { RunDetail } from "../../../../src/Schemas/Run.ts"
import { href } from "../../Router.ts"
import { Notice } from "../../ui/Notice.tsx"
import { adviceOf, sentenceOf } from "./Failure.ts"
import { isTurn } from "./Kind.ts"
import { RetryButton } from "./RunActions.tsx"

interface Props {
  readonly run: RunDetail
  readonly code: string | undefined
  readonly onChange: () => void
}

/** Why a run did not come to its end, and what can be done about it. */
export const Outcome = ({ run, code, onChange }: Props) => {
  const advice = adviceOf(run.status, code)
  if (advice === undefined) return null
  const isFailed = run.status === "FAILED"
  return (
    <Notice
      kind={isFailed ? "bad" : "info"}
      title={isFailed ? sentenceOf(run.error ?? "") : "It was cancelled."}
    >
      <p>{isTurn(run) ? "Send the message again in its chat." : advice.sentence}</p>
      <div class="row run-advice">
        {!isTurn(run) && <RetryButton run={run} isPrimary={advice.isRetryUseful} onChange={onChange} />}
        {advice.view !== undefined && (
          <a class="button" href={href([advice.view.path])}>
            {advice.view.label}
          </a>
        )}
        {code !== undefined && <code class="muted">{code}</code>}
      </div>
    </Notice>
  )
}
