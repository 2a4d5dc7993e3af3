import { useEffect, useRef, useState } from "preact/hooks"
import type { Approval } from "../../../../src/Schemas/Approval.ts"
import type { ApprovalId, RunId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { setCount } from "../../Counts.ts"
import { firstLine } from "../../Format.ts"
import { useLoad } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { ApprovalCard } from "../../ui/ApprovalCard.tsx"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { Age } from "../../ui/Time.tsx"
import { keys, neighbourOf, selectedOf, whichKey } from "./Inbox.ts"
import "./Approvals.css"

const lookMillis = 2_500
const mostShown = 100

/** Which task or message the call belongs to, looked up when somebody looks at it. */
const Origin = ({ runId }: { readonly runId: RunId }) => {
  const { data } = useLoad(runId, (signal) =>
    call((client) => client.runs.get({ params: { id: runId } }), signal)
  )
  return data === undefined ? null : <p class="approvals-prompt">“{firstLine(data.data.prompt)}”</p>
}

interface RowProps {
  readonly approval: Approval
  readonly isSelected: boolean
  readonly onSelect: () => void
  readonly onDecided: (said: string) => void
}

const Row = ({ approval, isSelected, onDecided, onSelect }: RowProps) => {
  const ref = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isSelected) ref.current?.scrollIntoView({ block: "nearest" })
  }, [isSelected])
  return (
    <li
      ref={ref}
      class="approvals-row"
      data-id={approval.id}
      aria-current={isSelected ? "true" : undefined}
      onFocusCapture={onSelect}
      onPointerDown={onSelect}
    >
      <header class="approvals-origin">
        <a href={href(["runs", approval.runId])}>The run that asks</a>
        <span class="muted">
          asked <Age at={approval.createdAt} />
        </span>
        {isSelected && <Origin runId={approval.runId} />}
      </header>
      <ApprovalCard approval={approval} onDecided={onDecided} />
    </li>
  )
}

const Keys = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keys" onClose={onClose}>
    <dl class="approvals-keys">
      {keys.map(({ key, does }) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)

/** The tool calls that wait for somebody, the oldest first. */
const Approvals = () => {
  const workspace = workspaceId()
  const { data, problem, reload } = useLoad(
    workspace,
    (signal) =>
      call(
        (client) => client.approvals.list({ query: { workspaceId: workspace, limit: mostShown, offset: 0 } }),
        signal
      ),
    { every: lookMillis }
  )
  const [decided, setDecided] = useState<ReadonlySet<ApprovalId>>(new Set())
  const [wanted, setWanted] = useState<ApprovalId>()
  const [said, setSaid] = useState("")
  const [showsKeys, setShowsKeys] = useState(false)
  const list = useRef<HTMLUListElement>(null)
  const waiting = (data?.data ?? []).filter(({ id }) => !decided.has(id))
  const selected = selectedOf(waiting, wanted)
  useEffect(() => {
    if (data !== undefined) setCount("approvals", waiting.length)
  }, [data, waiting.length])

  const rowOf = (id: ApprovalId | undefined) =>
    id === undefined ? null : list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)
  const whenDecided = (id: ApprovalId, sentence: string) => {
    const next = neighbourOf(waiting, id)
    const hadFocus = rowOf(id)?.contains(document.activeElement) === true
    setDecided(new Set(decided).add(id))
    setWanted(next)
    setSaid(sentence)
    reload()
    if (!hadFocus) return
    const to = rowOf(next)?.querySelector<HTMLElement>("[data-decision]") ?? document.querySelector("h1")
    if (to instanceof HTMLElement) to.focus()
  }

  const act = useRef((_event: KeyboardEvent) => {})
  act.current = (event) => {
    const key = whichKey(event)
    if (key === undefined || (selected === undefined && key !== "?")) return
    event.preventDefault()
    const row = rowOf(selected)
    const index = waiting.findIndex(({ id }) => id === selected)
    if (key === "?") setShowsKeys(true)
    if (key === "j") setWanted(waiting[Math.min(index + 1, waiting.length - 1)]?.id)
    if (key === "k") setWanted(waiting[Math.max(index - 1, 0)]?.id)
    if (key === "a") row?.querySelector<HTMLElement>("[data-decision]")?.click()
    if (key === "r") row?.querySelector("input")?.focus()
    if (key === "o") go(href(["runs", waiting[index]?.runId ?? ""]))
  }
  useEffect(() => {
    const press = (event: KeyboardEvent) => act.current(event)
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [])

  const isFull = data?.data.length === mostShown
  return (
    <Page
      title="Approvals"
      note={
        data !== undefined && waiting.length > 0
          ? `${waiting.length}${isFull ? " or more" : ""} ${waiting.length === 1 ? "call waits" : "calls wait"} for a decision`
          : undefined
      }
      actions={
        <Button kind="quiet" onClick={() => setShowsKeys(true)}>
          Keys <kbd>?</kbd>
        </Button>
      }
    >
      <p class={said === "" ? "visually-hidden" : "approvals-said"} aria-live="polite">
        {said}
      </p>
      <ProblemNotice problem={problem} onRetry={reload} />
      {data === undefined && problem === undefined && <Loading />}
      {data !== undefined && waiting.length === 0 && (
        <Empty title="Nothing waits for you.">
          <p>A tool call that needs a person appears here by itself, whoever asked for it.</p>
        </Empty>
      )}
      <ul class="approvals-list" ref={list} aria-label="Waiting tool calls">
        {waiting.map((approval) => (
          <Row
            key={approval.id}
            approval={approval}
            isSelected={approval.id === selected}
            onSelect={() => setWanted(approval.id)}
            onDecided={(sentence) => whenDecided(approval.id, sentence)}
          />
        ))}
      </ul>
      {showsKeys && <Keys onClose={() => setShowsKeys(false)} />}
    </Page>
  )
}

export default Approvals
