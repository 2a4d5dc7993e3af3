import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks"
import type { Conversation } from "../../../../src/Schemas/Conversation.ts"
import type { ConversationId, MessageId, RunId } from "../../../../src/Schemas/Ids.ts"
import { call, type Problem, toProblem } from "../../Client.ts"
import { type Followed, followAnswer, followRun, type NumberedEvent } from "../../Events.ts"
import { useLoad } from "../../Load.ts"
import { keepTurn, keepUnsent, turnOf, type Unsent } from "./Kept.ts"
import { isLatest, next, sending, type Turn } from "./Turn.ts"

type Message = Conversation["messages"][number]

const pageSize = 50
const mostTries = 5
const firstPause = 500
/** How often it is looked for a reply that this browser has no turn of, and for how long that is thought to come. */
const lookMillis = 3_000
const awaitedMillis = 3_600_000

export interface Talk {
  readonly conversation: Conversation | undefined
  readonly messages: ReadonlyArray<Message>
  /** What was sent and is not among the messages yet. */
  readonly sent: string | undefined
  /** Whether somebody else's request is being answered, as far as one can tell. */
  readonly isAwaited: boolean
  /** The answer to what was said last, unless it is among the messages already. */
  readonly answering: Turn | undefined
  /** The turns that were followed to their ends here, by the replies that they led to. */
  readonly turns: ReadonlyMap<string, Turn>
  readonly turnId: RunId | undefined
  /** Whether there are messages before the first. */
  readonly hasOlder: boolean
  readonly older: () => Promise<void>
  /** Why the conversation can't be read. */
  readonly problem: Problem | undefined
  /** Why nothing comes in just now; it is taken up again by itself. */
  readonly lost: Problem | undefined
  /** Rejects with why the message was not taken, which leaves nothing behind. */
  readonly send: (unsent: Unsent) => Promise<void>
  readonly reload: () => void
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Whether a message may have come in although nobody said so: it is sent again under its key, and is one. */
const isUnanswered = ({ tag }: Problem): boolean =>
  ["Offline", "Unavailable", "Unexpected", "IdempotencyInProgress"].includes(tag)

/**
 * A conversation, and the answer that is under way in it: streamed, taken up again after a reload, over nodes that go
 * and streams that break. `undefined` is one that is still to be begun, by the first message; `name` is what is kept of
 * either in this window is called.
 */
export const useTalk = (
  id: ConversationId | undefined,
  name: string,
  onBegun: (id: ConversationId) => void
): Talk => {
  const [turn, setTurn] = useState<Turn>()
  const [turnId, setTurnId] = useState<RunId>()
  const [sent, setSent] = useState<string>()
  const [lost, setLost] = useState<Problem>()
  const [sentId, setSentId] = useState<MessageId>()
  const known = useRef<ReadonlyArray<Message>>([])
  const [drawn, redraw] = useReducer((drawn: number) => drawn + 1, 0)
  const [isFirst, setFirst] = useState(false)
  const turns = useRef<ReadonlyMap<string, Turn>>(new Map())
  const stop = useRef(() => {})
  const isLeft = useRef(false)

  const read = (signal: AbortSignal) =>
    id === undefined
      ? Promise.resolve(undefined)
      : call((client) => client.chat.get({ params: { id }, query: { limit: pageSize } }), signal).then(
          ({ data }) => data
        )
  // A conversation whose last word is a person's is being answered, if not here then by somebody else's request.
  const [isAwaited, setAwaited] = useState(false)
  const { data, problem, reload } = useLoad(id ?? "new", read, {
    every: isAwaited ? lookMillis : undefined
  })
  const last = data?.messages.at(-1)
  const stored = [...known.current, ...(data?.messages ?? [])]
  const isKnown = stored.some((message) => message.id === sentId)
  const isSent = sent !== undefined && !isKnown
  const answering = isSent || isLatest(last, sentId) ? turn : undefined
  const isAnswering = answering !== undefined
  useEffect(() => {
    const isRecent = last !== undefined && last.createdAt.getTime() > Date.now() - awaitedMillis
    setAwaited(last?.role === "USER" && isRecent && !isAnswering)
  }, [last, isAnswering])

  const follow = useCallback(
    (begin: (followed: Followed) => () => void): Promise<boolean> =>
      new Promise((resolve) => {
        let state = sending
        let frame: number | undefined
        let isBegun = false
        const draw = () => {
          frame = undefined
          setTurn(state)
        }
        stop.current()
        setTurn(state)
        const end = begin({
          onEvent: ({ event }: NumberedEvent) => {
            if (event.event === "conversation") {
              keepTurn(event.data.conversationId, event.data.turnId)
              setTurnId(event.data.turnId)
              setSentId(event.data.messageId)
            }
            if (!isBegun) {
              isBegun = true
              resolve(true)
            }
            // Who has gone elsewhere finds it by its turn, and is not led back.
            if (isLeft.current) return end()
            if (event.event === "conversation") onBegun(event.data.conversationId)
            state = next(state, event)
            const { replyId } = state
            if (replyId !== undefined) turns.current = new Map([...turns.current, [replyId, state]])
            frame ??= requestAnimationFrame(draw)
          },
          onEnd: () => {
            setLost(undefined)
            if (!isBegun) setTurn(undefined)
            reload()
            resolve(isBegun)
          },
          onProblem: setLost
        })
        stop.current = () => {
          end()
          if (frame !== undefined) cancelAnimationFrame(frame)
        }
      }),
    [reload, onBegun]
  )

  const takeUp = useCallback(() => {
    const latest = id === undefined ? undefined : turnOf(id)
    setTurnId(latest)
    if (latest === undefined) reload()
    else follow((followed) => followRun(latest, followed))
  }, [id, follow, reload])

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is taken up when it is opened, and not again
  useEffect(() => {
    if (id !== undefined && turnOf(id) !== undefined) takeUp()
    return () => {
      isLeft.current = true
      stop.current()
    }
  }, [])

  const send = useCallback(
    async (unsent: Unsent) => {
      const { key, payload } = unsent
      keepUnsent(name, unsent)
      stop.current()
      setSent(payload.content)
      setSentId(undefined)
      setTurnId(undefined)
      setTurn(sending)
      for (let tried = 1; ; tried++) {
        try {
          const headers = { "idempotency-key": key }
          const { body } = await call((client) => client.chat.send({ payload }), undefined, headers)
          if (!(await follow((followed) => followAnswer(body, followed)))) throw toProblem(undefined)
          keepUnsent(name, undefined)
          return
        } catch (error) {
          const failed = toProblem(error)
          if (!isUnanswered(failed) || tried === mostTries) {
            keepUnsent(name, undefined)
            setSent(undefined)
            setTurn(undefined)
            if (failed.tag === "ConversationBusy") takeUp()
            throw failed
          }
          await pause(firstPause * 2 ** tried)
        }
      }
    },
    [name, follow, takeUp]
  )

  // The newest are contiguous to the end: what was known and is not among them comes before.
  // biome-ignore lint/correctness/useExhaustiveDependencies: older ones are drawn when they have come
  const messages = useMemo(() => {
    const newest = data?.messages ?? []
    const ids = new Set(newest.map((message) => message.id))
    known.current = [...known.current.filter((message) => !ids.has(message.id)), ...newest]
    return known.current
  }, [data, drawn])
  const hasOlder = !isFirst && messages.length >= pageSize
  const older = async () => {
    const oldest = messages[0]?.id as MessageId | undefined
    if (id === undefined || oldest === undefined) return
    const page = await call((client) =>
      client.chat.get({ params: { id }, query: { limit: pageSize, before: oldest } })
    )
    const { messages: found } = page.data
    known.current = [...found, ...known.current]
    if (found.length < pageSize) setFirst(true)
    redraw(0)
  }

  return {
    conversation: data,
    messages,
    sent: isSent ? sent : undefined,
    isAwaited,
    answering,
    turns: turns.current,
    turnId,
    hasOlder,
    older,
    problem,
    lost,
    send,
    reload
  }
}
