import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { StoredConversation } from "../../../../Schemas/Conversation.ts"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import type { ApprovalId, ConversationId } from "../../../../Schemas/Ids.ts"
import type { PromptMessage } from "../../../../Schemas/Inference.ts"
import { keyOfItem, type ResponseKey, responseIdOf } from "../../../../Schemas/OpenAi/ResponseId.ts"
import { askedOf, type InputItem, inputOf, openCalls } from "../../../../Schemas/OpenAi/ResponseInput.ts"
import {
  noSuchResponse,
  type ResponseRequest,
  responseOf
} from "../../../../Schemas/OpenAi/ResponseRequest.ts"
import { isTerminal } from "../../../../Schemas/Run.ts"
import { cut } from "../../../../Schemas/Text.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Approvals } from "../../../../Services/Approvals.ts"
import { Chat } from "../../../../Services/Chat.ts"
import * as RequestFacts from "../../../../Services/RequestFacts.ts"
import { type TurnDetail, Turns } from "../../../../Services/Turns.ts"
import { Workplace } from "../../../../Services/Workplace.ts"
import type { TurnRequest } from "../../TurnFace.ts"
import { makeReading } from "./ResponseReading.ts"

const longestContent = 100_000
/** How many responses a request may refer to items of: each is read. */
const mostReferred = 100
/** How long all that a request refers to may be together, as JSON: as much as it could say itself. */
const longestReferred = 1024 * 1024

const refuse = (error: string) => Effect.fail(new InvalidInput({ error }))

/** Begins the turn that a response is of, or goes on with one that waits for a decision. */
export const makeSending = Effect.gen(function* () {
  const chat = yield* Chat
  const workplace = yield* Workplace
  const { before, followed } = yield* makePlaces
  const decided = yield* makeDeciding
  const resolved = yield* makeResolving

  const placeOf = Effect.fnUntraced(function* (
    caller: Caller,
    { model }: ResponseRequest,
    header: string | undefined,
    conversation: StoredConversation | null
  ) {
    if (conversation !== null && header !== undefined && header !== conversation.workspaceId) {
      return yield* refuse("X-Workspace-Id: is another workspace than that of the conversation")
    }
    if (model === undefined && conversation !== null) {
      return { workspaceId: conversation.workspaceId, agentId: null }
    }
    const { agent, workspaceId } = yield* workplace.resolve(caller, {
      header: conversation?.workspaceId ?? header,
      named: model
    })
    if (agent === null && conversation !== null && conversation.agentId !== null) {
      return yield* refuse(`model: the conversation is answered by ${conversation.agentId}`)
    }
    return { workspaceId, agentId: agent?.id ?? null }
  })

  return Effect.fnUntraced(function* (caller: Caller, { payload, workspaceHeader }: TurnRequest) {
    const request = yield* Effect.fromResult(responseOf(payload))
    const { conversation, detail } = yield* before(caller, request)
    const decision = request.items.find(({ type }) => type === "decision")
    if (decision?.type === "decision") return yield* decided(caller, request, decision, detail)
    const after = yield* followed(request, detail)
    const place = yield* placeOf(caller, request, workspaceHeader, conversation)
    const items = yield* resolved(caller, request.items, place.workspaceId)
    const asked = yield* Effect.fromResult(askedOf(items, openCalls(detail?.reply?.parts ?? [])))
    if (asked.parts.length === 0) return yield* refuse("input: must have something to answer")
    const developer = joined(developerOf(detail), asked.developer)
    return yield* chat.send(caller, {
      ...place,
      ...(conversation !== null && { conversationId: conversation.id }),
      ...(after !== undefined && { after }),
      content: cut(asked.content, longestContent),
      ...(!isPlain(asked.parts, asked.content) && { parts: asked.parts }),
      given: {
        ...request.given,
        messages: null,
        instructions: joined(request.instructions, developer),
        echo: { ...request.echo, ...(developer !== null && { developer }) }
      },
      isHidden: !request.isStored
    })
  })
})

/** Where in a conversation a request goes on. */
const makePlaces = Effect.gen(function* () {
  const chat = yield* Chat
  const turns = yield* Turns

  /**
   * The message behind which the answer is asked for: undefined where the conversation simply goes on. Behind a response that is
   * not the last one it goes on in a copy, and so it does where the answer is not to be stored in it.
   */
  const followed = Effect.fnUntraced(function* (request: ResponseRequest, detail: TurnDetail | null) {
    if (detail === null || !isTerminal(detail.run.status)) return undefined
    if (request.previous === undefined && request.isStored) return undefined
    if (detail.reply !== null) return detail.reply.id
    // Without a reply the conversation ends with what was asked.
    const [first] = yield* Stream.runCollect(Stream.take(turns.told(detail.run), 1))
    return first?.event.event === "conversation" ? first.event.data.messageId : undefined
  })

  /** The turn that a request goes on behind, and its conversation. */
  const before = Effect.fnUntraced(function* (caller: Caller, request: ResponseRequest) {
    const { conversationId, previous } = request
    if (previous !== undefined) {
      const detail = yield* turns
        .get(caller, previous.turnId)
        .pipe(Effect.catchTag("NotFound", () => refuse(`previous_response_id: ${noSuchResponse}`)))
      const { conversation } = detail
      return { conversation, detail }
    }
    if (conversationId === undefined) return { conversation: null, detail: null }
    const unknown = () => refuse("conversation: there is no such conversation")
    const found = yield* chat
      .get(caller, conversationId as ConversationId, { limit: 1 })
      .pipe(Effect.catchTag("NotFound", unknown))
    const { conversation, turn } = yield* turns
      .chat(caller, found.conversation.workspaceId, conversationId)
      .pipe(Effect.catchTag("NotFound", unknown))
    return { conversation, detail: turn === null ? null : yield* turns.get(caller, turn.id) }
  })

  return { before, followed }
})

/** What was said by whoever made the program in the conversation before: it holds as long as that lasts. */
const developerOf = (detail: TurnDetail | null): string | null => {
  const said = detail?.input?.echo?.developer
  return typeof said === "string" ? said : null
}

const joined = (first: string | null, second: string | null): string | null =>
  first === null || second === null ? (first ?? second) : `${first}\n\n${second}`

/** Whether the content says all that the model is to see. */
const isPlain = ([first, ...more]: ReadonlyArray<PromptMessage>, content: string): boolean =>
  more.length === 0 && first?.role === "user" && first.content === cut(content, longestContent)

/** Decides about the call that a response ended with, and goes on with its turn. The first decision wins. */
const makeDeciding = Effect.gen(function* () {
  const approvals = yield* Approvals
  const { told } = yield* makeReading
  const turns = yield* Turns

  return Effect.fnUntraced(function* (
    caller: Caller,
    { items, previous }: ResponseRequest,
    decision: Extract<InputItem, { type: "decision" }>,
    detail: TurnDetail | null
  ) {
    const { approvalId, field, isApproved, reason } = decision
    if (previous === undefined || detail === null) {
      return yield* refuse("previous_response_id: must be the response that asked for the approval")
    }
    if (items.some(({ type }) => type !== "decision" && type !== "nothing")) {
      return yield* refuse("input: an approval response can't be sent with other items")
    }
    if (items.filter(({ type }) => type === "decision").length > 1) {
      return yield* refuse("input: a response asks for one approval, and so takes one approval response")
    }
    if ((yield* told(previous, detail)).question() !== approvalId) {
      return yield* refuse(`${field}: is not the approval that ${responseIdOf(previous)} asked for`)
    }
    yield* approvals
      .decide(caller, approvalId as ApprovalId, {
        decision: isApproved ? "approve" : "reject",
        reason
      })
      .pipe(
        Effect.catchTag("ApprovalDecided", () => Effect.void),
        Effect.catchTag("NotFound", () => refuse(`${field}: there is no such approval`))
      )
    yield* RequestFacts.tell({ turnId: detail.run.id })
    const events = yield* turns
      .events(caller, detail.run.id, 0)
      .pipe(Effect.catchTag("NotFound", () => refuse(`previous_response_id: ${noSuchResponse}`)))
    if (events._tag === "None") return yield* refuse(`previous_response_id: ${noSuchResponse}`)
    return events.value
  })
})

/** Puts in place of references what they refer to: items of responses of the same workspace. */
const makeResolving = Effect.gen(function* () {
  const { find, read } = yield* makeReading

  return Effect.fnUntraced(function* (caller: Caller, items: ReadonlyArray<InputItem>, workspaceId: string) {
    const outputs = new Map<string, ReadonlyArray<Schema.JsonObject>>()
    let length = 0
    const outputOf = Effect.fnUntraced(function* (key: ResponseKey) {
      const id = responseIdOf(key)
      const known = outputs.get(id)
      if (known !== undefined) return known
      if (outputs.size >= mostReferred) {
        return yield* refuse(`input: must refer to items of at most ${mostReferred} responses`)
      }
      const detail = yield* find(caller, key)
      const isHere = detail.run.workspaceId === workspaceId
      const output = isHere ? (yield* read(caller, key, detail)).state.output : []
      outputs.set(id, output)
      return output
    })
    return yield* Effect.forEach(
      items,
      Effect.fnUntraced(function* (item) {
        if (item.type !== "reference") return item
        // Approvals are asked for with ids of their own.
        if (item.id.startsWith("appr_")) return { type: "nothing" } as const
        const key = keyOfItem(item.id)
        const output =
          key === undefined
            ? []
            : yield* outputOf(key).pipe(Effect.catchTag("NotFound", () => Effect.succeed([])))
        const found = output.find(({ id }) => id === item.id)
        if (found === undefined) return yield* refuse(`${item.field}: there is no such item`)
        length += JSON.stringify(found).length
        if (length > longestReferred) return yield* refuse("input: must refer to at most 1 MiB of items")
        const read = inputOf({ name: item.field, value: [found] })
        if (Result.isFailure(read)) return yield* Effect.fail(read.failure)
        return read.success[0] ?? ({ type: "nothing" } as const)
      })
    )
  })
})
