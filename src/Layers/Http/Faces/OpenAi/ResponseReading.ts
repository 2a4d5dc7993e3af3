import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { StoredMessage } from "../../../../Schemas/Conversation.ts"
import { NotFound } from "../../../../Schemas/Errors.ts"
import { itemIdOf, type ResponseKey } from "../../../../Schemas/OpenAi/ResponseId.ts"
import { type ResponseItem, toItem } from "../../../../Schemas/OpenAi/ResponseItem.ts"
import type { ResponseFacts, ResponseState } from "../../../../Schemas/OpenAi/ResponseObject.ts"
import { makeResponseTold, type ResponseTold } from "../../../../Schemas/OpenAi/ResponseTold.ts"
import { isTerminal, type StoredRun } from "../../../../Schemas/Run.ts"
import type { NumberedEvent } from "../../../../Schemas/RunEvent.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { type CountedUsage, noUsage } from "../../../../Schemas/Usage.ts"
import { type TurnDetail, Turns } from "../../../../Services/Turns.ts"
import { Usage } from "../../../../Services/Usage.ts"

export const responseNotFound = new NotFound({ error: "response not found" })

export const factsOf = (key: ResponseKey, { conversation, input, run }: TurnDetail): ResponseFacts => ({
  key,
  createdAt: run.createdAt,
  conversationId: conversation.isHidden ? null : conversation.id,
  input,
  model: run.agentId ?? "default"
})

export const foldOf = (key: ResponseKey, { input }: Pick<TurnDetail, "input">): ResponseTold =>
  makeResponseTold(
    key,
    new Set((input?.tools ?? []).map(({ name }) => name)),
    key.leg === 1 && input?.echo?.background === true
  )

/** Reads what a response is now, out of what its turn told. */
export const makeReading = Effect.gen(function* () {
  const turns = yield* Turns
  const usage = yield* Usage

  /** A response of a turn that the caller may see; the leg may not be there yet. */
  const find = Effect.fnUntraced(function* (caller: Caller, key: ResponseKey) {
    return yield* turns
      .get(caller, key.turnId)
      .pipe(Effect.catchTag("NotFound", () => Effect.fail(responseNotFound)))
  })

  /** With what was told of it up to `before`, an id of an event of its turn. */
  const told = Effect.fnUntraced(function* (key: ResponseKey, detail: TurnDetail, before = Infinity) {
    const fold = foldOf(key, detail)
    const kept = turns.told(detail.run).pipe(Stream.takeWhile(({ id }: NumberedEvent) => id < before))
    yield* Stream.runForEachArray(kept, (events) =>
      Effect.sync(() => {
        for (const event of events) fold.take(event)
      })
    )
    return fold
  })

  /** What the turn took, all legs together. */
  const spent = (caller: Caller, run: StoredRun) =>
    Effect.orElseSucceed(usage.ofRun(caller, run.id), (): CountedUsage => run.usage)

  const stateOf = Effect.fnUntraced(function* (caller: Caller, detail: TurnDetail, fold: ResponseTold) {
    const { run } = detail
    const end = fold.end()
    if (end === undefined || end.status === "broken") {
      const status = fold.isInProgress() || run.status !== "PENDING" ? "in_progress" : "queued"
      return { status, output: fold.output() } satisfies ResponseState
    }
    return {
      status: end.status,
      output: fold.output(),
      end,
      // When a turn ended, and what it took, is told where it ends.
      endedAt: fold.question() === undefined ? run.finishedAt : null,
      usage: fold.question() === undefined ? yield* spent(caller, run) : noUsage
    } satisfies ResponseState
  })

  return {
    find,
    told,
    stateOf,
    /** What it is now, and the fold that says so; `NotFound` where the turn has no such leg. */
    read: Effect.fnUntraced(function* (caller: Caller, key: ResponseKey, detail: TurnDetail) {
      const fold = yield* told(key, detail)
      if (fold.hasBegun()) return { fold, state: yield* stateOf(caller, detail, fold) }
      if (isTerminal(detail.run.status)) {
        return fold.isEmpty() ? yield* forgotten(caller, key, detail, spent) : yield* responseNotFound
      }
      // Somebody has decided, and the leg is about to begin.
      const isNext = key.leg === 1 || (yield* told({ ...key, leg: key.leg - 1 }, detail)).end() !== undefined
      if (!isNext) return yield* responseNotFound
      return { fold, state: { status: "queued", output: [] } satisfies ResponseState }
    })
  }
})

/** Of a turn whose events are forgotten there is what was stored of its reply. */
const forgotten = Effect.fnUntraced(function* <E, R>(
  caller: Caller,
  key: ResponseKey,
  detail: TurnDetail,
  spent: (caller: Caller, run: StoredRun) => Effect.Effect<CountedUsage, E, R>
) {
  const { reply, run } = detail
  const status: ResponseState["status"] =
    run.status === "COMPLETED" ? "completed" : run.status === "CANCELLED" ? "cancelled" : "failed"
  return {
    fold: foldOf(key, detail),
    state: {
      status,
      output: reply === null ? [] : outputOf(key, reply, detail),
      end:
        status === "completed"
          ? undefined
          : { status, code: run.errorCode ?? "failed", error: run.error ?? "it failed" },
      endedAt: run.finishedAt,
      usage: yield* spent(caller, run)
    } satisfies ResponseState
  }
})

/** The items of a stored reply, in the order in which they were told. */
const outputOf = (
  key: ResponseKey,
  reply: StoredMessage,
  { input }: TurnDetail
): Array<Schema.JsonObject> => {
  const callers = new Set((input?.tools ?? []).map(({ name }) => name))
  const results = new Map(
    (reply.parts ?? []).flatMap((part) =>
      part.role === "tool" ? part.results.map((result) => [result.id, result]) : []
    )
  )
  const items: Array<ResponseItem> = []
  const id = (prefix: string) => itemIdOf(prefix, key, items.length)
  const parts = reply.parts ?? [{ role: "assistant" as const, content: reply.content, toolCalls: [] }]
  for (const part of parts) {
    if (part.role !== "assistant") continue
    if (part.content !== "") {
      items.push({ type: "message", id: id("msg"), status: "completed", text: part.content })
    }
    for (const { arguments: given, id: callId, name } of part.toolCalls) {
      const call = { callId, name, arguments: given }
      const result = results.get(callId)
      items.push(
        callers.has(name) || result === undefined
          ? { ...call, type: "function_call", id: id("fc"), status: "completed" }
          : {
              ...call,
              type: "mcp_call",
              id: id("mcp"),
              status: result.isError ? "failed" : "completed",
              approvalId: null,
              result: result.result
            }
      )
    }
  }
  return items.map(toItem)
}
