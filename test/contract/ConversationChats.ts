import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredConversation } from "../../src/Schemas/Conversation.ts"
import {
  type ConversationId,
  MessageId,
  type RunId,
  type UserId,
  type WorkspaceId
} from "../../src/Schemas/Ids.ts"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"
import { copiedId, mostCopied, type NewTurn, newTurn, type SendTurn } from "../../src/Schemas/Turn.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeConversation, makeUser, makeWorkspace, newId, newMessage } from "../support/Fixtures.ts"
import { messagesOf } from "../support/Listed.ts"
import { completed, minute, times } from "./RunSubject.ts"

const start = { worker: "w", kind: "turn", leaseMillis: minute, perWorkspace: 99, perOwner: 99 } as const

const parts: ReadonlyArray<PromptMessage> = [
  { role: "tool", results: [{ id: "call", name: "read", result: "é", isError: false, durationMs: 3 }] },
  { role: "user", content: "and?" }
]

type Asked = Partial<Omit<SendTurn, "workspaceId">>

/** Turns of one user in a workspace, each at its own second. */
const subject = Effect.gen(function* () {
  const [conversations, runs] = [yield* ConversationRepo, yield* RunRepo]
  const workspaceId = yield* makeWorkspace
  const { id: sender } = yield* makeUser
  const make = Effect.fnUntraced(function* (
    seconds: number,
    input: Asked = {},
    of: {
      readonly existing?: StoredConversation
      readonly copied?: StoredConversation
      readonly sender?: UserId
      readonly workspaceId?: WorkspaceId
    } = {}
  ) {
    const ids = {
      turn: yield* newId<RunId>("turn"),
      message: yield* newId<MessageId>("message"),
      reply: yield* newId<MessageId>("message"),
      conversation: yield* newId<ConversationId>("conversation")
    }
    return newTurn({
      input: { workspaceId: of.workspaceId ?? workspaceId, content: `What is ${seconds}?`, ...input },
      existing: of.existing ?? null,
      copied: of.copied ?? null,
      agent: null,
      sender: of.sender ?? sender,
      ids,
      at: at(seconds)
    })
  })
  const begin = (turn: NewTurn, isNew = true) => conversations.begin(turn, { isNew, start })
  const found = (id: ConversationId) => Effect.map(conversations.find(id), Option.getOrThrow)
  const replyId = ({ run }: NewTurn) => run.turn?.replyId ?? assert.fail("a turn has a reply")
  /** The end of a turn, with its reply. */
  const reply = Effect.fnUntraced(function* (turn: NewTurn, seconds: number) {
    const message = yield* newMessage({
      id: replyId(turn),
      role: "ASSISTANT",
      content: `It is ${seconds}.`,
      createdAt: at(seconds)
    })
    const said: ReadonlyArray<PromptMessage> = [
      { role: "assistant", content: message.content, toolCalls: [] }
    ]
    yield* conversations.addReply(turn.conversation.id, message, {
      parts: said,
      usage: { ...noUsage, inputTokens: 7 }
    })
    yield* runs.finish({ id: turn.run.id, worker: "w", epoch: 1 }, completed, times)
    return message
  })
  const contents = (id: ConversationId) =>
    Effect.map(messagesOf(conversations, id), (said) => said.map(({ content }) => content))
  const chat = (chatId: string, ownerId = sender, of = workspaceId) =>
    conversations.findChat({ workspaceId: of, ownerId, chatId })
  return { begin, chat, contents, conversations, found, make, reply, replyId, runs, sender, workspaceId }
})

/** A conversation of two turns that are over. */
const answered = Effect.gen(function* () {
  const given = yield* subject
  const first = yield* given.make(1)
  yield* given.begin(first)
  yield* given.reply(first, 2)
  const id = first.conversation.id
  const second = yield* given.make(3, { conversationId: id, parts }, { existing: yield* given.found(id) })
  yield* given.begin(second, false)
  yield* given.reply(second, 4)
  return { ...given, first, second, source: yield* given.found(id) }
})

export const suite = (it: It) =>
  describe("ConversationRepo, chats of other clients", () => {
    it.effect("finds a conversation by what its owner's client calls it, until it is gone", () =>
      Effect.gen(function* () {
        const { begin, chat, conversations, found, make, workspaceId } = yield* subject
        const turn = yield* make(1, { chatId: "a chat" })
        assert.deepStrictEqual(yield* chat("a chat"), Option.none())
        assert.deepStrictEqual(yield* begin(turn), Option.some(true))
        const { id } = turn.conversation
        assert.deepStrictEqual(yield* chat("a chat"), Option.some(yield* found(id)))
        assert.deepStrictEqual(yield* conversations.latestTurn(id), Option.some(turn.run.id))
        assert.deepStrictEqual(yield* chat("A chat"), Option.none())
        const { id: other } = yield* makeUser
        assert.deepStrictEqual(yield* chat("a chat", other), Option.none())
        assert.deepStrictEqual(yield* chat("a chat", undefined, yield* makeWorkspace), Option.none())
        // Another owner's, and one that is called so in another workspace.
        assert.deepStrictEqual(
          yield* begin(yield* make(2, { chatId: "a chat" }, { sender: other })),
          Option.some(true)
        )
        const elsewhere = { workspaceId: yield* makeWorkspace }
        assert.deepStrictEqual(
          yield* begin(yield* make(2, { chatId: "a chat" }, elsewhere)),
          Option.some(true)
        )
        const again = yield* make(3, { chatId: "a chat" })
        assert.deepStrictEqual(yield* begin(again), Option.none())
        assert.deepStrictEqual(yield* conversations.find(again.conversation.id), Option.none())
        yield* conversations.remove(id)
        assert.deepStrictEqual(yield* chat("a chat"), Option.none())
        assert.deepStrictEqual(yield* conversations.latestTurn(id), Option.none())
        assert.deepStrictEqual(yield* begin(again), Option.some(true))
        assert.deepStrictEqual(
          Option.map(yield* chat("a chat"), (of) => of.id),
          Option.some(again.conversation.id)
        )
        assert.lengthOf(yield* conversations.list({ workspaceId, limit: 9, offset: 0 }), 2)
      })
    )

    it.effect("makes one conversation of 20 that are to be called so at the same time", () =>
      Effect.gen(function* () {
        const { begin, chat, make, runs, conversations } = yield* subject
        const turns = yield* Effect.replicateEffect(make(1, { chatId: "one" }), 20)
        const begun = yield* Effect.forEach(turns, (turn) => begin(turn), { concurrency: "unbounded" })
        assert.strictEqual(begun.filter(Option.isSome).length, 1)
        const winner = turns[begun.findIndex(Option.isSome)]
        assert.strictEqual(Option.getOrThrow(yield* chat("one")).id, winner?.conversation.id)
        for (const { conversation, message, run } of turns) {
          const isWinner = conversation.id === winner?.conversation.id
          assert.strictEqual(Option.isSome(yield* runs.find(run.id)), isWinner)
          assert.strictEqual(Option.isSome(yield* conversations.entry(conversation.id, message.id)), isWinner)
        }
      })
    )

    it.effect("goes on behind the last message alone, where that is asked for", () =>
      Effect.gen(function* () {
        const { begin, contents, first, found, make, replyId, second, source } = yield* answered
        const { id } = source
        const behind = (after: MessageId, existing = source) =>
          make(5, { conversationId: id, after }, { existing })
        for (const after of [replyId(first), second.message.id, "msg_none" as MessageId]) {
          assert.deepStrictEqual(yield* begin(yield* behind(after), false), Option.none())
        }
        const turn = yield* behind(replyId(second))
        const stale = yield* behind(replyId(second), { ...source, updatedAt: at(3) })
        assert.deepStrictEqual(yield* begin(stale, false), Option.none())
        assert.deepStrictEqual(yield* begin(turn, false), Option.some(true))
        assert.strictEqual((yield* contents(id)).at(-1), "What is 5?")
        assert.deepStrictEqual(
          yield* begin(yield* behind(turn.message.id, yield* found(id)), false),
          Option.none()
        )
      })
    )

    it.effect("begins with a copy of a conversation up to a message, which stays as it is", () =>
      Effect.gen(function* () {
        const { begin, contents, conversations, first, found, make, reply, replyId, second, source } =
          yield* answered
        const before = yield* messagesOf(conversations, source.id)
        const history = yield* conversations.history(source.id, 1_000_000)
        const copyOf = (seconds: number, after: MessageId) =>
          make(seconds, { conversationId: source.id, after }, { copied: source })
        const early = yield* copyOf(5, replyId(first))
        assert.deepStrictEqual(yield* begin(early), Option.some(true))
        assert.deepStrictEqual(yield* contents(early.conversation.id), [
          "What is 1?",
          "It is 2.",
          "What is 5?"
        ])
        yield* reply(early, 6)
        const whole = yield* copyOf(7, replyId(second))
        assert.deepStrictEqual(yield* begin(whole), Option.some(true))
        const copied = yield* messagesOf(conversations, whole.conversation.id)
        const withoutId = ({ id: _, ...message }: (typeof copied)[number]) => message
        assert.deepStrictEqual(copied.map(withoutId), [...before, whole.message].map(withoutId))
        assert.strictEqual(new Set([...before, ...copied].map(({ id }) => id)).size, 9)
        const shown = ({ content, parts, role }: (typeof history)[number]) => ({ role, content, parts })
        assert.deepStrictEqual((yield* conversations.history(whole.conversation.id, 1_000_000)).map(shown), [
          ...history.map(shown),
          { role: "USER", content: "What is 7?", parts: null }
        ])
        assert.deepInclude(yield* found(whole.conversation.id), {
          title: source.title,
          projectId: source.projectId
        })
        assert.deepStrictEqual(yield* messagesOf(conversations, source.id), before)
        assert.deepStrictEqual(yield* found(source.id), source)
        assert.deepStrictEqual(yield* contents(early.conversation.id), [
          "What is 1?",
          "It is 2.",
          "What is 5?",
          "It is 6."
        ])
        assert.deepStrictEqual(yield* begin(yield* copyOf(8, "msg_none" as MessageId)), Option.none())
        // A copy is its own: it stays when the other one goes.
        yield* conversations.remove(source.id)
        assert.deepStrictEqual(yield* begin(yield* copyOf(9, replyId(second))), Option.none())
        assert.lengthOf(yield* contents(whole.conversation.id), 5)
      })
    )

    it.effect("copies under ids that no other message has, also of what is sent within a millisecond", () =>
      Effect.gen(function* () {
        const { begin, conversations, make, replyId, second, source } = yield* answered
        const after = replyId(second)
        const first = yield* make(5, { conversationId: source.id, after }, { copied: source })
        // Within a millisecond ids differ in their ends alone, which may look like places.
        const endingIn = (end: string) => MessageId.make(`${first.message.id.slice(0, -end.length)}${end}`)
        const seen = new Set<string>()
        for (const id of [endingIn("zz0"), endingIn("zz1"), endingIn("002")]) {
          const turn = yield* make(5, { conversationId: source.id, after }, { copied: source })
          const given = { ...turn, message: { ...turn.message, id } }
          assert.deepStrictEqual(yield* begin(given), Option.some(true))
          const there = (yield* messagesOf(conversations, turn.conversation.id)).map((message) => message.id)
          const copies = [0, 1, 2, 3].map((place) => copiedId(turn.conversation.id, place))
          assert.deepStrictEqual(there, [...copies, id])
          for (const each of there) seen.add(each)
        }
        assert.strictEqual(seen.size, 3 * 5)
      })
    )

    it.effect("copies the newest messages alone where there are very many", () =>
      Effect.gen(function* () {
        const { begin, conversations, make, source } = yield* answered
        for (let n = 0; n < mostCopied; n++) {
          yield* conversations.addMessage(source.id, yield* newMessage({ content: `${n}`, createdAt: at(n) }))
        }
        const all = (id: ConversationId) => conversations.newest(id, { before: null, limit: 2 * mostCopied })
        const after = (yield* all(source.id)).rows.at(-2)?.id
        const turn = yield* make(5, { conversationId: source.id, after }, { copied: source })
        yield* begin(turn)
        const copied = (yield* all(turn.conversation.id)).rows.map(({ content }) => content)
        assert.lengthOf(copied, mostCopied + 1)
        assert.deepStrictEqual([copied[0], copied[1], copied.at(-2)], ["It is 4.", "0", `${mostCopied - 2}`])
      })
    )

    it.effect("shows a message with what the model is shown of it", () =>
      Effect.gen(function* () {
        const { conversations, first, second, source, replyId } = yield* answered
        const entry = (id: string, of = source.id) => conversations.entry(of, id as MessageId)
        assert.deepStrictEqual(yield* entry(second.message.id), Option.some({ ...second.message, parts }))
        assert.deepStrictEqual(yield* entry(first.message.id), Option.some({ ...first.message, parts: null }))
        assert.deepInclude(Option.getOrThrow(yield* entry(replyId(first))), { content: "It is 2." })
        assert.deepStrictEqual(yield* entry(first.message.id, "conv_none" as ConversationId), Option.none())
        assert.deepStrictEqual(
          Option.map(yield* conversations.latestTurn(source.id), String),
          Option.some(second.run.id)
        )
      })
    )

    it.effect("lists no hidden conversation, and forgets it with its turns once nothing came for long", () =>
      Effect.gen(function* () {
        const { begin, conversations, found, make, reply, runs, workspaceId } = yield* subject
        const events = yield* RunEventRepo
        const hidden = yield* Effect.forEach([10, 20, 30, 40], (seconds) => make(seconds, { isHidden: true }))
        for (const turn of hidden) yield* begin(turn)
        const [first, second, third, answering] = hidden
        if (!(first && second && third && answering)) return assert.fail()
        for (const [n, turn] of [first, second, third].entries()) yield* reply(turn, 10 * n + 11)
        const shown = yield* makeConversation(workspaceId)
        const listed = yield* conversations.list({ workspaceId, limit: 9, offset: 0 })
        assert.deepStrictEqual(
          listed.map(({ id }) => id),
          [shown.id]
        )
        assert.isTrue((yield* found(first.conversation.id)).isHidden)
        assert.strictEqual(yield* conversations.forgetHidden(at(11), 9), 0)
        const later = at(1_000)
        assert.strictEqual(yield* conversations.forgetHidden(later, 1), 1)
        const isThere = ({ conversation, message, run }: NewTurn) =>
          Effect.gen(function* () {
            return [
              Option.isSome(yield* conversations.find(conversation.id)),
              Option.isSome(yield* conversations.entry(conversation.id, message.id)),
              Option.isSome(yield* runs.find(run.id)),
              (yield* events.read(run.id, 0, 9)).length > 0
            ]
          })
        const [no, yes] = [Array(4).fill(false), Array(4).fill(true)]
        assert.deepStrictEqual(yield* Effect.forEach(hidden, isThere), [no, yes, yes, yes])
        assert.strictEqual(yield* conversations.forgetHidden(at(32), 9), 2)
        assert.strictEqual(yield* conversations.forgetHidden(later, 9), 0)
        assert.deepStrictEqual(yield* Effect.forEach(hidden, isThere), [no, no, no, yes])
        yield* reply(answering, 41)
        assert.strictEqual(yield* conversations.forgetHidden(later, 9), 1)
        assert.strictEqual((yield* found(shown.id)).id, shown.id)
      })
    )
  })
