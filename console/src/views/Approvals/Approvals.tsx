import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Approval } from "../../../../src/Schemas/Approval.ts"
import type { ApprovalId, RunId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { setCount } from "../../Counts.ts"
import { useLoad } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { ApprovalCard } from "../../ui/ApprovalCard.tsx"
import { Button } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { LongText } from "../../ui/Text.tsx"
import { Age } from "../../ui/Time.tsx"
import { visible } from "../../ui/Visible.ts"
import { goneOf, neighbourOf, selectedOf } from "./Inbox.ts"
import { keys, whichKey } from "./Keys.ts"
import "./Approvals.css"

const lookMillis = 2_500
const mostShown = 100
const foldedPrompt = 300
/** Nobody has read in that time what has come to be where another one was. */
const readMillis = 600

const isTurn = (runId: RunId): boolean => runId.startsWith("turn_")

/** Which task or message the call belongs to, looked up when somebody looks at it. */
const Origin = ({ runId }: { readonly runId: RunId }) => {
  const { data } = useLoad(runId, (signal) =>
    call((client) => client.runs.get({ params: { id: runId } }), signal)
  )
  return data === undefined ? null : (
    <div class="approvals-prompt">
      <LongText text={visible(data.data.prompt)} folded={foldedPrompt} label="What it was asked" />
    </div>
  )
}

/** Whether any of it is within the window. */
const isSeen = (element: HTMLElement | null | undefined): boolean => {
  const { bottom = -1, top = 0 } = element?.getBoundingClientRect() ?? {}
  return bottom > 0 && top < innerHeight
}

interface RowProps {
  readonly approval: Approval
  readonly isSelected: boolean
  readonly isUnread: boolean
  readonly onSelect: () => void
  readonly onDecided: (said: string) => void
}

const Row = ({ approval, isSelected, isUnread, onDecided, onSelect }: RowProps) => {
  return (
    <li
      class="approvals-row"
      data-id={approval.id}
      aria-current={isSelected ? "true" : undefined}
      onFocusCapture={onSelect}
      onPointerDown={onSelect}
    >
      <header class="approvals-origin">
        <a href={href(["runs", approval.runId])}>
          {isTurn(approval.runId) ? "The answer in a chat that asks" : "The run that asks"}
        </a>
        <span class="muted">
          asked <Age at={approval.createdAt} />
        </span>
        {isSelected && <Origin runId={approval.runId} />}
      </header>
      <ApprovalCard approval={approval} isUnread={isUnread} onDecided={onDecided} />
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
  const shown = useRef(waiting)
  const [movedAt, setMovedAt] = useState<number>()
  const isUnread = movedAt !== undefined
  useLayoutEffect(() => {
    const gone = goneOf(shown.current, waiting)
    shown.current = waiting
    if (gone.length > 0) setMovedAt(performance.now())
    const elsewhere = gone.filter(({ id }) => !decided.has(id)).map(({ tool }) => visible(tool))
    if (elsewhere.length > 0) setSaid(`Decided elsewhere, or too late: ${elsewhere.join(", ")}`)
    if (waiting.length === 0 ? wanted !== undefined : wanted === undefined) setWanted(waiting[0]?.id)
  })
  useEffect(() => {
    if (movedAt === undefined) return
    const timer = setTimeout(() => setMovedAt(undefined), readMillis)
    return () => clearTimeout(timer)
  }, [movedAt])
  useEffect(() => {
    if (data !== undefined) setCount("approvals", waiting.length)
  }, [data, waiting.length])

  const rowOf = (id: ApprovalId | undefined) =>
    id === undefined ? null : list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)
  const cardOf = (id: ApprovalId | undefined) => rowOf(id)?.querySelector<HTMLElement>(".approval-card")
  const whenDecided = (id: ApprovalId, sentence: string) => {
    const next = neighbourOf(waiting, id)
    const { activeElement } = document
    const hadFocus = activeElement === document.body || rowOf(id)?.contains(activeElement) === true
    setDecided(new Set(decided).add(id))
    setWanted(next)
    setSaid(sentence)
    reload()
    if (!hadFocus) return
    // Not its button: Enter that is still held down would decide about it.
    const to = cardOf(next) ?? document.querySelector("h1")
    if (to instanceof HTMLElement) to.focus()
  }

  const act = useRef((_event: KeyboardEvent) => {})
  act.current = (event) => {
    const key = whichKey(event)
    const row = rowOf(selected)
    const index = waiting.findIndex(({ id }) => id === selected)
    const beside = key === "j" ? waiting[index + 1] : key === "k" ? waiting[index - 1] : undefined
    const isStep = key === "j" || key === "k"
    // At either end arrows scroll the page as they do elsewhere.
    if (key === undefined || (isStep ? beside === undefined : selected === undefined && key !== "?")) return
    event.preventDefault()
    if (key === "?") setShowsKeys(true)
    if (isStep) {
      setWanted(beside?.id)
      cardOf(beside?.id)?.focus()
    }
    if (key === "a") {
      const button = row?.querySelector<HTMLElement>("[data-decision]")
      if (isSeen(button)) button?.click()
      else button?.scrollIntoView({ block: "nearest" })
    }
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
      {waiting.length > 0 && <h2 class="visually-hidden">Waiting tool calls</h2>}
      <ul class="approvals-list" ref={list} aria-label="Waiting tool calls">
        {waiting.map((approval) => (
          <Row
            key={approval.id}
            approval={approval}
            isSelected={approval.id === selected}
            isUnread={isUnread}
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
