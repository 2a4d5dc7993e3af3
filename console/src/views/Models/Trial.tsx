import { useEffect, useState } from "preact/hooks"
import type { RunId } from "../../../../src/Schemas/Ids.ts"
import type { ProviderKey } from "../../../../src/Schemas/ProviderKey.ts"
import { isTerminal } from "../../../../src/Schemas/Run.ts"
import { call } from "../../Client.ts"
import { useAction, useLoad, useOnce } from "../../Load.ts"
import { href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { TextArea } from "../../ui/Field.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Status } from "../../ui/Status.tsx"
import { LongText } from "../../ui/Text.tsx"

const lookMillis = 1_000

/** What became of the task that tries a key. */
const Outcome = ({ id }: { readonly id: RunId }) => {
  const [isOver, setOver] = useState(false)
  const { data, problem } = useLoad(
    id,
    (signal) => call((client) => client.runs.get({ params: { id } }), signal),
    { every: isOver ? undefined : lookMillis }
  )
  const run = data?.data
  useEffect(() => setOver(run !== undefined && isTerminal(run.status)), [run])
  if (run === undefined) return <ProblemNotice problem={problem} />
  return (
    <div class="stack" aria-live="polite">
      <div class="row">
        <Status status={run.status} />
        {run.model !== null && (
          <span class="muted">
            {run.provider} / {run.model}
          </span>
        )}
        <a href={href(["runs", id])}>See the run</a>
      </div>
      {run.error !== null && <Notice kind="bad">{run.error}</Notice>}
      {run.output !== null && <LongText text={run.output} />}
    </div>
  )
}

/** Asks a model something by a key, as a task that anybody can look at. */
export const Trial = ({
  onClose,
  providerKey
}: {
  readonly providerKey: ProviderKey
  readonly onClose: () => void
}) => {
  const [prompt, setPrompt] = useState("Say hello in five words.")
  const [runId, setRunId] = useState<RunId>()
  const once = useOnce()
  const ask = useAction(async () => {
    const payload = { workspaceId: workspaceId(), prompt, providerKeyId: providerKey.id }
    const { data } = await once(payload, (key) =>
      call((client) => client.tasks.create({ payload }), undefined, key)
    )
    setRunId(data.id)
  })
  return (
    <Dialog title={`Try ${providerKey.name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          ask.run()
        }}
      >
        <TextArea
          label="Ask"
          name="prompt"
          rows={2}
          value={prompt}
          problem={ask.problem}
          onText={setPrompt}
        />
        {ask.problem?.message.startsWith("prompt:") !== true && <ProblemNotice problem={ask.problem} />}
        {runId !== undefined && <Outcome key={runId} id={runId} />}
        <footer>
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={ask.isBusy} disabled={prompt.trim() === ""}>
            Ask
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
