import { useState } from "preact/hooks"
import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import { call, newKey } from "../../Client.ts"
import { firstLine } from "../../Format.ts"
import { useAction } from "../../Load.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { isTurn } from "./Kind.ts"

interface Props {
  readonly run: RunDetail
  readonly onChange: () => void
}

const namedLength = 120

/** What can be done with a run that goes on. */
export const RunActions = ({ run, onChange }: Props) => {
  const [isAsking, setAsking] = useState(false)
  const cancel = useAction(async () => {
    await call((client) => client.runs.cancel({ params: { id: run.id } }), undefined, newKey())
    onChange()
  })
  if (isTerminal(run.status)) return null
  const what = isTurn(run) ? "answer" : "run"
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Cancel {what}
      </Button>
      {isAsking && (
        <Confirm
          title={`Cancel this ${what}?`}
          deed={`Cancel ${what}`}
          problem={cancel.problem}
          onConfirm={() => cancel.run()}
          onClose={() => {
            cancel.clear()
            setAsking(false)
          }}
        >
          <p class="run-named">{firstLine(run.prompt, namedLength)}</p>
          <p class="muted">
            What it has done stays done, and its finished steps are kept.
            {!isTurn(run) && " It can be retried later."}
          </p>
        </Confirm>
      )}
    </>
  )
}

/** Makes a run that is over go on behind its last finished step. */
export const RetryButton = ({ run, isPrimary, onChange }: Props & { readonly isPrimary: boolean }) => {
  const retry = useAction(async () => {
    await call((client) => client.runs.retry({ params: { id: run.id } }), undefined, newKey())
    onChange()
  })
  return (
    <>
      <Button kind={isPrimary ? "primary" : "plain"} isBusy={retry.isBusy} onClick={() => retry.run()}>
        Retry
      </Button>
      <ProblemNotice problem={retry.problem} />
    </>
  )
}
