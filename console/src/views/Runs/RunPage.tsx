import { useEffect, useState } from "preact/hooks"
import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { isTerminal } from "../../../../src/Schemas/Run.ts"
import { firstLine } from "../../Format.ts"
import { href } from "../../Router.ts"
import { ApprovalCard } from "../../ui/ApprovalCard.tsx"
import { Id } from "../../ui/Copy.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page, Section } from "../../ui/Page.tsx"
import { Status } from "../../ui/Status.tsx"
import { LongText } from "../../ui/Text.tsx"
import { listHref } from "./Address.ts"
import { Outcome } from "./Outcome.tsx"
import { Raw } from "./Raw.tsx"
import { RunActions } from "./RunActions.tsx"
import { RunFacts } from "./RunFacts.tsx"
import { Steps } from "./Steps.tsx"
import { type Read, type RunState, useRun } from "./useRun.ts"

const back = () => ({ href: listHref(), label: "Runs" })
const titleLength = 90
const foldedText = 480

/** A run: what it was asked, what came of it, and its steps along time, followed while it goes on. */
export const RunPage = ({ id }: { readonly id: RunId }) => {
  const state = useRun(id)
  const { problem, read, reload } = state
  if (read !== undefined) return <Found state={state} read={read} />
  if (problem?.tag === "NotFound") return <NoRun id={id} />
  return (
    <Page title="Run" back={back()}>
      <ProblemNotice problem={problem} onRetry={reload} />
      {problem === undefined && <Loading rows={10} />}
    </Page>
  )
}

const shownId = 100

/** Says that there is no such run, or none that may be seen. */
export const NoRun = ({ id }: { readonly id: string }) => (
  <Page title="No such run" back={back()}>
    <Empty title={`There is no run ${firstLine(id, shownId)} that you may see.`}>
      <p>It may have been removed, or be in a workspace that you are no member of.</p>
      <a class="button" href={href(["runs"])}>
        All runs
      </a>
    </Empty>
  </Page>
)

/** Whoever came here by a link that is gone goes on from the heading. */
const focusHeading = () => {
  if (document.activeElement === document.body) document.querySelector("h1")?.focus({ preventScroll: true })
}

const Found = ({ state, read }: { readonly state: RunState; readonly read: Read }) => {
  const { live, lost, problem, reload } = state
  const { approvals, run, timeline, usage } = read
  const isOver = isTerminal(run.status)
  const [said, setSaid] = useState("")
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was decided about is gone, and the focus with it
  useEffect(focusHeading, [approvals.length])
  return (
    <Page
      title={firstLine(run.prompt, titleLength) || "Run"}
      back={back()}
      note={
        <span class="row">
          <span role="status">
            <Status status={run.status} />
          </span>
          <Id id={run.id} />
        </span>
      }
      actions={<RunActions run={run} onChange={reload} />}
    >
      <div class="run stack">
        <RunFacts run={run} usage={usage} />
        <div class="run-told" role="status">
          {lost !== undefined && problem === undefined && !isOver && <span class="muted">Reconnecting…</span>}
          {said !== "" && <span>{said}</span>}
        </div>
        {problem !== undefined && (
          <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
        )}
        <Outcome run={run} code={timeline.errorCode ?? live.code} onChange={reload} />
        {approvals.length > 0 && (
          <Section title="Waiting for approval">
            <div class="stack">
              {approvals.map((approval) => (
                <ApprovalCard
                  key={approval.id}
                  approval={approval}
                  onDecided={(sentence) => {
                    setSaid(sentence)
                    reload()
                  }}
                />
              ))}
            </div>
          </Section>
        )}
        <div class="run-texts">
          <div class="panel">
            <h2>Task</h2>
            <LongText text={run.prompt} folded={foldedText} label="Text of the task" />
          </div>
          {run.output !== null && (
            <div class="panel">
              <h2>{run.status === "COMPLETED" ? "Output" : "Output as far as it came"}</h2>
              <LongText text={run.output} folded={foldedText} label="Text of the output" />
            </div>
          )}
        </div>
        <Section title="Steps">
          <Steps run={run} timeline={timeline} live={live} />
        </Section>
        <Raw run={run} />
      </div>
    </Page>
  )
}
