import { Buffer } from "node:buffer"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredConversation } from "../../../../Schemas/Conversation.ts"
import { InvalidInput, unknownReference } from "../../../../Schemas/Errors.ts"
import type { ApprovalId, ProjectId, ProviderKeyId } from "../../../../Schemas/Ids.ts"
import type { PromptMessage } from "../../../../Schemas/Inference.ts"
import type { StoredRun } from "../../../../Schemas/Run.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import type { ToolResult } from "../../../../Schemas/Tool.ts"
import type { SendTurn } from "../../../../Schemas/Turn.ts"
import { newResults, placeOf } from "../../../../Schemas/UiStream/Places.ts"
import { type Answered, readRequest, type UiRequest } from "../../../../Schemas/UiStream/Request.ts"
import { Approvals } from "../../../../Services/Approvals.ts"
import { Chat } from "../../../../Services/Chat.ts"
import * as RequestFacts from "../../../../Services/RequestFacts.ts"
import { Turns } from "../../../../Services/Turns.ts"
import type { TurnRequest } from "../../TurnFace.ts"
import * as Find from "./Find.ts"

const mostMessages = 1_000

/** A chat that there is, with its latest turn. */
interface Found {
  readonly conversation: StoredConversation
  readonly turn: StoredRun | null
}

/**
 * Begins what a request asks for: of its messages only what is new counts, since the stored ones are what is true. New is
 * a message of the user, what people say about calls that wait for them, or results of the client's own tools.
 */
export const make = Effect.gen(function* () {
  const chat = yield* Chat
  const find = yield* Find.make
  const decided = yield* makeDecided
  const contentOf = yield* makeContentOf

  return Effect.fnUntraced(function* (caller: Caller, { params, payload, workspaceHeader }: TurnRequest) {
    const request = yield* Effect.fromResult(readRequest(payload))
    const agentId = params.agentId ?? ""
    const named = { agentId, chat: request.chatId, workspaceHeader }
    const { chat: found, place } = yield* find(caller, named)
    if (Option.isNone(found) && Find.isConversation(request.chatId)) return yield* unknownReference("id")
    const { last } = request
    const turn = Option.isNone(found) ? null : found.value.turn
    if (last.role === "assistant" && last.answered.length > 0 && turn !== null) {
      const events = yield* decided(caller, turn, last.answered)
      if (Option.isSome(events)) return events.value
    }
    const content = yield* contentOf(request, Option.getOrUndefined(found))
    const input: SendTurn = {
      ...content,
      workspaceId: place.workspaceId,
      ...(place.agent !== null && { agentId: place.agent.id }),
      ...(Option.isNone(found)
        ? { chatId: request.chatId }
        : { conversationId: found.value.conversation.id }),
      ...(request.given !== undefined && { given: request.given }),
      ...(request.projectId !== undefined && { projectId: request.projectId as ProjectId }),
      ...(request.providerKeyId !== undefined && { providerKeyId: request.providerKeyId as ProviderKeyId }),
      ...(request.autonomyLevel !== undefined && { autonomyLevel: request.autonomyLevel })
    }
    return yield* chat.send(caller, input)
  })
})

/** What is said in a turn of its own. */
const makeContentOf = Effect.gen(function* () {
  const turns = yield* Turns

  return Effect.fnUntraced(function* (request: UiRequest, found: Found | undefined) {
    const { isRegenerating, last, messageId, resultsBefore } = request
    const isReplacing = last.role === "user" && (isRegenerating || messageId !== null)
    const results = last.role === "user" ? resultsBefore : last.results
    const isRead = found !== undefined && (isReplacing || results.length > 0)
    const messages = isRead ? yield* turns.messages(found.conversation, Find.mostBytes) : []
    if (last.role === "assistant") {
      const parts = partsOf(newResults(results, messages))
      if (parts.length === 0)
        return yield* new InvalidInput({ error: "messages: hold nothing new to answer" })
      return { content: "", parts }
    }
    const { content } = last
    if (isReplacing) {
      const isCut = messages.length >= mostMessages || bytesOf(messages) >= Find.mostBytes
      const replacing = yield* Effect.fromResult(placeOf(request, { messages, isCut }))
      return { content, replacing }
    }
    const parts = partsOf(newResults(results, messages))
    return parts.length === 0
      ? { content }
      : { content, parts: [...parts, { role: "user" as const, content }] }
  })
})

const partsOf = (results: ReadonlyArray<ToolResult>): ReadonlyArray<PromptMessage> =>
  results.length === 0 ? [] : [{ role: "tool", results }]

/** At most what was read of them; what it was exactly is of no matter. */
const bytesOf = (messages: ReadonlyArray<unknown>): number => Buffer.byteLength(JSON.stringify(messages))

/** The turn that goes on, once it is decided what was asked about its calls; none, where none of that was asked in it. */
const makeDecided = Effect.gen(function* () {
  const approvals = yield* Approvals
  const turns = yield* Turns

  return Effect.fnUntraced(function* (caller: Caller, turn: StoredRun, answered: ReadonlyArray<Answered>) {
    const asked = new Map((yield* approvals.ofRun(caller, turn)).map((approval) => [approval.id, approval]))
    let isOfTurn = false
    for (const { approvalId, approved, reason } of answered) {
      const approval = asked.get(approvalId as ApprovalId)
      if (approval === undefined) continue
      isOfTurn = true
      if (approval.status !== "PENDING") continue
      const decision = { decision: approved ? ("approve" as const) : ("reject" as const), reason }
      // Somebody else was faster: the turn tells what was decided.
      yield* Effect.catchTag(
        approvals.decide(caller, approval.id, decision),
        ["ApprovalDecided", "NotFound"],
        () => Effect.void
      )
    }
    if (!isOfTurn) return Option.none()
    yield* RequestFacts.tell({ turnId: turn.id })
    return yield* turns.events(caller, turn.id, 0)
  })
})
