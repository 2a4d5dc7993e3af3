import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Conversation as Conversations } from "../../../../src/Schemas/Conversation.ts"
import type { AgentId, ConversationId, ProjectId } from "../../../../src/Schemas/Ids.ts"
import { call, toProblem } from "../../Client.ts"
import { useAction } from "../../Load.ts"
import { go, href } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Loading } from "../../ui/Page.tsx"
import { Age } from "../../ui/Time.tsx"
import { Parts, Tools, Words } from "./Answer.tsx"
import { Composer } from "./Composer.tsx"
import { Pending } from "./Pending.tsx"
import { isOver, type Turn } from "./Turn.ts"
import { type Talk, useTalk } from "./useTalk.ts"

/** So many pixels from the end one reads the end. */
const near = 80

const phases: Partial<Record<Turn["phase"], string>> = {
  sending: "Sending…",
  thinking: "Thinking…",
  tools: "Using tools…",
  waiting: "Waiting for a decision"
}

type Message = Conversations["messages"][number]

const Said = ({ message, turn }: { readonly message: Message; readonly turn: Turn | undefined }) => {
  const uses = (turn?.parts ?? []).flatMap((part) => (part.type === "tools" ? part.uses : []))
  return (
    <article class={message.role === "USER" ? "chat-message chat-user" : "chat-message"}>
      <header class="chat-who">
        {message.role === "USER" ? "You" : "Agent"}{" "}
        <span class="muted">
          <Age at={message.createdAt} />
        </span>
      </header>
      {uses.length > 0 && <Tools uses={uses} />}
      <Words text={message.content} />
    </article>
  )
}

/** The answer that is under way, or why there is none. */
const Answering = ({ talk, turn }: { readonly talk: Talk; readonly turn: Turn }) => (
  <article class="chat-message" aria-busy={!isOver(turn)}>
    <header class="chat-who">
      Agent{" "}
      <span class="muted" aria-live="polite">
        {phases[turn.phase] ?? ""}
      </span>
    </header>
    {turn.unavailable.length > 0 && (
      <Notice kind="warn">It answers without these connectors: {turn.unavailable.join(", ")}.</Notice>
    )}
    <Parts parts={turn.parts} />
    {turn.approvalId !== undefined && <Pending key={turn.approvalId} approvalId={turn.approvalId} />}
    {talk.lost !== undefined && <Notice kind="warn">{talk.lost.message}</Notice>}
    {turn.error !== undefined && (
      <Notice kind={turn.error.code === "cancelled" ? "info" : "bad"}>
        {turn.error.sentence}{" "}
        {talk.turnId !== undefined && <a href={href(["runs", talk.turnId])}>See what happened</a>}
      </Notice>
    )}
  </article>
)

interface Props {
  readonly id: ConversationId | undefined
  readonly agentId: AgentId | undefined
  readonly projectId: ProjectId | undefined
  readonly onChanged: () => void
}

/** A conversation and its composer; without an id one that the first message begins. */
export const Conversation = ({ agentId, id, onChanged, projectId }: Props) => {
  const name = id ?? `new.${workspaceId()}`
  const talk = useTalk(id, name, (begun) => {
    onChanged()
    if (id === undefined) go(href(["chat", begun]), { replace: true })
  })
  const { answering, messages, sent, turns } = talk
  const isAnswering = answering !== undefined && !isOver(answering)
  const isStored = answering?.replyId !== undefined && messages.some(({ id }) => id === answering.replyId)
  // What is said while an answer comes in does not change with each of its pieces.
  const said = useMemo(
    () => messages.map((message) => <Said key={message.id} message={message} turn={turns.get(message.id)} />),
    [messages, turns]
  )
  const older = useAction(async () => {
    heightBefore.current = box.current?.scrollHeight
    await talk.older()
  })

  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const [showsEnd, setShowsEnd] = useState(true)
  const toEnd = useCallback(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [])
  const heightBefore = useRef<number | undefined>(undefined)
  const first = messages[0]?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was read stays where it is when older messages come before it
  useLayoutEffect(() => {
    const { current } = box
    if (current === null || heightBefore.current === undefined) return
    current.scrollTop += current.scrollHeight - heightBefore.current
    heightBefore.current = undefined
  }, [first])
  // What comes in later, such as an approval to decide, makes it longer as well.
  const inside = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) toEnd()
    })
    for (const seen of [box.current, inside.current]) if (seen !== null) observer.observe(seen)
    return () => observer.disconnect()
  }, [toEnd])
  const isEnded = answering !== undefined && isOver(answering)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list of conversations changes when an answer ends
  useEffect(() => {
    if (isEnded) onChanged()
  }, [isEnded])

  return (
    <section class="chat-talk" aria-label="Conversation">
      <div
        ref={box}
        class="chat-messages"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
        tabIndex={0}
        role="log"
        aria-label="Messages"
        onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < near
          setShowsEnd(isAtEnd.current)
        }}
      >
        <div ref={inside} class="chat-inside">
          <ProblemNotice problem={talk.problem ?? older.problem} onRetry={talk.reload} />
          {id !== undefined && talk.conversation === undefined && talk.problem === undefined && <Loading />}
          {talk.hasOlder && (
            <Button kind="quiet" isBusy={older.isBusy} onClick={() => older.run()}>
              Show older messages
            </Button>
          )}
          {id === undefined && sent === undefined && (
            <p class="chat-begin muted">Say what you want to know or have done.</p>
          )}
          {said}
          {sent !== undefined && (
            <article class="chat-message chat-user">
              <header class="chat-who">You</header>
              <Words text={sent} />
            </article>
          )}
          {answering !== undefined && !isStored && <Answering talk={talk} turn={answering} />}
          {talk.isAwaited && (
            <p class="muted" aria-live="polite">
              No reply yet: it appears here when there is one.
            </p>
          )}
        </div>
      </div>
      {!showsEnd && (
        <Button class="chat-to-end" onClick={toEnd}>
          ↓ Newest
        </Button>
      )}
      <Composer
        name={name}
        isAnswering={isAnswering}
        canStop={talk.turnId !== undefined}
        payloadOf={(content) => ({
          ...content,
          workspaceId: workspaceId(),
          ...(id !== undefined && { conversationId: id }),
          ...(agentId !== undefined && { agentId }),
          ...(projectId !== undefined && { projectId })
        })}
        onSend={(unsent) => {
          isAtEnd.current = true
          return talk.send(unsent)
        }}
        onStop={async () => {
          const { turnId } = talk
          if (turnId === undefined) return
          await call((client) => client.runs.cancel({ params: { id: turnId } })).catch((error) => {
            // It was faster.
            if (toProblem(error).tag !== "RunFinished") throw error
          })
        }}
      />
    </section>
  )
}
