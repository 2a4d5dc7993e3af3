import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import type { Problem } from "../Client.ts"
import { Button } from "./Button.tsx"
import { ProblemNotice } from "./Notice.tsx"

interface Props {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly isWide?: boolean
}

/** A dialog over the page while it is there: Escape closes it, and focus goes back to where it was. */
export const Dialog = ({ title, onClose, children, isWide = false }: Props) => {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    const dialog = ref.current
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={isWide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </Button>
      </header>
      {children}
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  /** What the button that does it says: the deed, not "OK". */
  readonly deed: string
  readonly onConfirm: () => Promise<boolean>
  readonly onClose: () => void
  readonly problem?: Problem | undefined
  readonly children?: ComponentChildren
  /** What has to be typed first, for what can't be undone at all. */
  readonly typed?: string
}

/** Asks before something that can't be undone; closes when it was done, and says here why it was not. */
export const Confirm = ({ title, deed, onConfirm, onClose, problem, children, typed }: ConfirmProps) => {
  const [text, setText] = useState("")
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    const isDone = await onConfirm()
    setBusy(false)
    if (isDone) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {typed !== undefined && (
        <label class="field">
          <span>
            Type <code>{typed}</code> to go on
          </span>
          <input
            type="text"
            autocomplete="off"
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
      )}
      <ProblemNotice problem={problem} />
      <footer>
        <Button onClick={onClose}>Keep</Button>
        <Button
          kind="danger"
          isBusy={isBusy}
          disabled={typed !== undefined && text !== typed}
          onClick={confirm}
        >
          {deed}
        </Button>
      </footer>
    </Dialog>
  )
}
