import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { AutonomyLevel } from "../../../../src/Schemas/Autonomy.ts"
import { newId } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { Button } from "../../ui/Button.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { draftOf, keepDraft, type Unsent, unsentOf } from "./Kept.ts"

const levels: Record<AutonomyLevel, string> = {
  supervised: "Ask before every tool",
  "semi-autonomous": "Ask before tools that change things",
  autonomous: "Never ask"
}

export interface Said {
  readonly content: string
  readonly autonomyLevel?: AutonomyLevel
}

interface Props {
  /** What the draft is kept by, and what was sent and has no answer yet. */
  readonly name: string
  readonly isAnswering: boolean
  /** Whether it is known by now what there is to stop. */
  readonly canStop: boolean
  readonly payloadOf: (said: Said) => Unsent["payload"]
  readonly onSend: (unsent: Unsent) => Promise<void>
  readonly onStop: () => Promise<void>
}

/** Takes what is to be said: Enter sends, Shift and Enter begin a new line. What was not taken stays. */
export const Composer = ({ name, isAnswering, canStop, payloadOf, onSend, onStop }: Props) => {
  const [text, setText] = useState(() => draftOf(name))
  const [level, setLevel] = useState("")
  const input = useRef<HTMLTextAreaElement>(null)
  const keep = (value: string) => {
    setText(value)
    keepDraft(name, value)
  }
  const typed = (): Unsent => {
    const autonomyLevel = AutonomyLevel.literals.find((each) => each === level)
    const said = { content: text.trim(), ...(autonomyLevel !== undefined && { autonomyLevel }) }
    keep("")
    return { key: newId(), payload: payloadOf(said) }
  }
  const send = useAction(async (again?: Unsent) => {
    const unsent = again ?? typed()
    try {
      await onSend(unsent)
    } catch (error) {
      // Somebody may have begun to type again.
      keep(
        [unsent.payload.content, input.current?.value ?? draftOf(name)]
          .filter((each) => each !== "")
          .join("\n")
      )
      throw error
    }
  })
  const stop = useAction(onStop)
  const canSend = text.trim() !== "" && !isAnswering && !send.isBusy
  useLayoutEffect(() => {
    const { current } = input
    if (current === null || current.value !== text) return
    current.style.height = "auto"
    current.style.height = `${Math.min(current.scrollHeight + 2, 240)}px`
  }, [text])
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the page before had no answer to is sent again once
  useEffect(() => {
    const unsent = unsentOf(name)
    if (unsent !== undefined) send.run(unsent)
  }, [])
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) input.current?.focus()
  }, [])

  return (
    <form
      class="chat-composer"
      onSubmit={(event) => {
        event.preventDefault()
        if (canSend) send.run()
      }}
    >
      <ProblemNotice problem={send.problem ?? stop.problem} />
      <label class="visually-hidden" for="chat-message">
        Message
      </label>
      <textarea
        id="chat-message"
        ref={input}
        rows={2}
        value={text}
        placeholder="Write a message…"
        onInput={(event) => keep(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return
          event.preventDefault()
          if (canSend) send.run()
        }}
      />
      <div class="chat-composer-foot">
        <label>
          <span class="visually-hidden">When it asks</span>
          <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            <option value="">Ask as its policy says</option>
            {AutonomyLevel.literals.map((each) => (
              <option key={each} value={each}>
                {levels[each]}
              </option>
            ))}
          </select>
        </label>
        <span class="muted chat-hint">Enter sends, Shift Enter makes a new line</span>
        {isAnswering ? (
          <Button isBusy={stop.isBusy} disabled={!canStop} onClick={() => stop.run()}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" type="submit" isBusy={send.isBusy} disabled={!canSend}>
            Send
          </Button>
        )}
      </div>
    </form>
  )
}
