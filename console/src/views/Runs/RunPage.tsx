import type { RunId } from "../../../../src/Schemas/Ids.ts"
import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import { firstLine } from "../../Format.ts"
import { href } from "../../Router.ts"
import { ApprovalCard } from "../../ui/ApprovalCard.tsx"
import { Id } from "../../ui/Copy.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page, Section } from "../../ui/Page.tsx"
import { Status } from "../../ui/Status.tsx"
import { LongText } from "../../ui/Text.tsx"
import { Outcome } from "./Outcome.tsx"
import { Raw } from "./Raw.tsx"
import { RunActions } from "./RunActions.tsx"
import { RunFacts } from "./RunFacts.tsx"
import { Steps } from "./Steps.tsx"
import { type RunState, useRun } from "./useRun.ts"

const back = { href: href(["runs"]), label: "Runs" }
const titleLength = 90
const foldedText = 480

/** A run: what it was asked, what came of it, and its steps along time, followed while it goes on. */
export const RunPage = ({ id }: { readonly id: RunId }) => {
  const state = useRun(id)
  const { problem, reload, run } = state
  if (run !== undefined) return <Found state={state} run={run} />
  if (problem?.tag === "NotFound") {
    return (
      <Page title="No such run" back={back}>
        <Empty title={`There is no run ${id} that you may see.`}>
          <p>It may have been removed, or be in a workspace that you are no member of.</p>
          <a class="button" href={back.href}>
            All runs
          </a>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="Run" back={back}>
      <ProblemNotice problem={problem} onRetry={reload} />
      {problem === undefined && <Loading rows={10} />}
    </Page>
  )
}

const Found = ({ state, run }: { readonly state: RunState; readonly run: RunDetail }) => {
  const { live, lost, problem, reload, times, usage } = state
  const waiting = times.approvals.filter(({ status }) => status === "PENDING")
  const isOver = isTerminal(run.status)
  return (
    <Page
      title={firstLine(run.prompt, titleLength) || "Run"}
      back={back}
      note={
        <span class="row">
          <Status status={run.status} /> <Id id={run.id} />
        </span>
      }
      actions={<RunActions run={run} onChange={reload} />}
    >
      <div class="run stack">
        <RunFacts run={run} usage={usage} />
        <div class="run-told" role="status">
          {lost !== undefined && !isOver && <span class="muted">Reconnecting… {lost.message}</span>}
        </div>
        {problem !== undefined && (
          <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
        )}
        <Outcome run={run} code={times.errorCode ?? live.code} onChange={reload} />
        {run.status === "WAITING_APPROVAL" && waiting.length > 0 && (
          <section class="stack" aria-label="Waiting for approval">
            {waiting.map((approval) => (
              <ApprovalCard key={approval.id} approval={approval} onDecided={reload} />
            ))}
          </section>
        )}
        <div class="run-texts">
          <section class="panel" aria-labelledby="run-task">
            <h2 id="run-task">Task</h2>
            <LongText text={run.prompt} folded={foldedText} label="Task" />
          </section>
          {run.output !== null && (
            <section class="panel" aria-labelledby="run-output">
              <h2 id="run-output">{run.status === "COMPLETED" ? "Output" : "Output as far as it came"}</h2>
              <LongText text={run.output} folded={foldedText} label="Output" />
            </section>
          )}
        </div>
        <Section title="Steps">
          <Steps run={run} times={times} live={live} />
        </Section>
        <Raw run={run} />
      </div>
    </Page>
  )
}
