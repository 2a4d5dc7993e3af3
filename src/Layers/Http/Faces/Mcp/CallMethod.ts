import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Asking from "./Asking.ts"
import type * as Calls from "./Calls.ts"
import { type Asked, headerOf, type Outcome } from "./Exchange.ts"
import { invalidParams, isId, objectOr, RpcError, type RpcId } from "./Messages.ts"
import { callState, type Followed } from "./Places.ts"
import * as Results from "./Results.ts"
import { sent } from "./Sent.ts"
import type * as Tasks from "./Tasks.ts"

/** One that is longer than an id may be is none: all that is told says it again. */
const tokenOf = ({ _meta }: Schema.JsonObject): RpcId | undefined => {
  const { progressToken } = objectOr(_meta)
  return isId(progressToken) ? progressToken : undefined
}

const keyOf = ({ headers, request }: Asked): string | undefined => {
  const { "agentd/idempotencyKey": key } = objectOr(request.params._meta)
  return headers["idempotency-key"] ?? (typeof key === "string" ? key : undefined)
}

const callOf = (asked: Asked): Calls.ToolCall | RpcError => {
  const { arguments: given = {}, name } = asked.request.params
  if (typeof name !== "string") return invalidParams("name: is required")
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return invalidParams("arguments: must be an object")
  }
  return {
    caller: asked.caller,
    header: headerOf(asked),
    name,
    arguments: given as Schema.JsonObject,
    key: keyOf(asked)
  }
}

const ofNoCall = invalidParams("requestState: is none of this call")

/**
 * `tools/call`. What the call begins is a run: the request is answered out of its events, or with it as a task, where the client
 * takes one. Before 2026-07-28 the client asks for a task; since then it says that it takes them, and every call of an
 * agent is one.
 */
export const make = Effect.fnUntraced(function* (
  calls: Effect.Success<typeof Calls.make>,
  tasks: Effect.Success<typeof Tasks.make>
) {
  const asking = yield* Asking.make

  const followed = ({ request }: Asked, what: Pick<Followed, "runId" | "kind" | "after">): Outcome => {
    const progressToken = tokenOf(request.params)
    return {
      followed: {
        ...what,
        rpcId: request.id,
        ofTask: false,
        ...(progressToken !== undefined && { progressToken })
      }
    }
  }

  /** Goes on with a call that has waited for people. The state names a run; what may be done with it are the caller's rights. */
  const goOn = Effect.fnUntraced(function* (asked: Asked, call: Calls.ToolCall) {
    const { inputResponses, requestState } = asked.request.params
    const state = Option.getOrUndefined(callState.read(requestState))
    if (state === undefined || (state.kind === "turn") !== (call.name === "chat")) return yield* ofNoCall
    const run = yield* calls.workplaces.run(asked.caller, call.header, state.runId)
    if (state.kind === "task") {
      const agent = yield* calls.agents.find(asked.caller, run.workspaceId, call.name)
      if (agent?.id !== run.agentId) return yield* ofNoCall
    }
    const decided = yield* asking.decideAll(asked.caller, run.id, objectOr(inputResponses))
    // Who has closed the form is not asked the same again at once.
    const isLeft = inputResponses !== undefined && decided === 0 && run.status === "WAITING_APPROVAL"
    return isLeft ? { result: sent(asked.exchange, Results.outcomeOf(run)) } : followed(asked, state)
  })

  const asTask = Effect.fnUntraced(function* (
    asked: Asked,
    begun: Exclude<Calls.Begun, { readonly answer: unknown }>
  ) {
    const { caller, exchange } = asked
    const params = { taskId: begun.runId }
    const task = yield* tasks.created({ caller, exchange, header: headerOf(asked), params })
    return { result: sent(exchange, exchange.isModern ? task : { task }, "task") }
  })

  return Effect.fnUntraced(function* (asked: Asked) {
    const { exchange, request } = asked
    const call = callOf(asked)
    if (call instanceof RpcError) return yield* call
    if (exchange.isModern && request.params.requestState !== undefined) return yield* goOn(asked, call)
    const isTask = !exchange.isModern && exchange.tasks && request.params.task !== undefined
    if (isTask && !calls.mayBeTask(call.name)) {
      return yield* new RpcError({ code: -32601, message: `${call.name} can't be called as a task` })
    }
    const begun = yield* calls.perform(call)
    if ("answer" in begun) {
      if (isTask) return yield* invalidParams(begun.answer.content.map(({ text }) => text).join("\n"))
      return { result: sent(exchange, begun.answer) }
    }
    if (isTask) return yield* asTask(asked, begun)
    if (call.name === "send_task") return { result: sent(exchange, yield* calls.began(call, begun.runId)) }
    return exchange.isModern && exchange.tasks && begun.kind === "task"
      ? yield* asTask(asked, begun)
      : followed(asked, { ...begun, after: 0 })
  })
})
