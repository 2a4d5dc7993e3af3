import { useEffect, useState } from "preact/hooks"
import { Button } from "./Button.tsx"

const shownMillis = 2_000

interface Props {
  readonly text: string
  readonly label?: string
  /** What is copied, for who can't see what it stands beside. */
  readonly what?: string
  readonly tabIndex?: number
}

/** Copies a text; says so, or that the browser does not let it. */
export const Copy = ({ text, label = "Copy", what, tabIndex }: Props) => {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), shownMillis)
    return () => clearTimeout(timer)
  }, [said])
  const copy = () =>
    Promise.resolve()
      .then(() => navigator.clipboard.writeText(text))
      .then(
        () => setSaid("Copied"),
        () => setSaid("Can't copy here")
      )
  return (
    <Button kind="quiet" class="copy" tabIndex={tabIndex} onClick={copy}>
      <span aria-live="polite">{said ?? label}</span>
      {what !== undefined && <span class="visually-hidden"> {what}</span>}
    </Button>
  )
}

/** An id that can be copied. */
export const Id = ({ id }: { readonly id: string }) => (
  <span class="id">
    <code>{id}</code>
    <Copy text={id} />
  </span>
)
