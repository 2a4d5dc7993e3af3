import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Forbidden, InvalidInput, NotFound, Unavailable } from "../../../../Schemas/Errors.ts"
import type { RunId } from "../../../../Schemas/Ids.ts"
import type { RunFinished } from "../../../../Schemas/Run.ts"
import { Ids } from "../../../../Services/Ids.ts"
import * as CallMethod from "./CallMethod.ts"
import * as Calls from "./Calls.ts"
import { definitionFor } from "./Definitions.ts"
import {
  type Asked,
  agreedVersion,
  elicitsIn,
  headerOf,
  missingCapability,
  type Outcome,
  session,
  tasksExtension,
  versions
} from "./Exchange.ts"
import { invalidParams, methodNotFound, objectOr, RpcError, textOr } from "./Messages.ts"
import { sent, serverInfo } from "./Sent.ts"
import * as Tasks from "./Tasks.ts"

const instructions =
  "agentd runs AI agents. Each active agent is a tool; send_task gives a task to one in the background, get_run tells what " +
  "became of it, chat talks with one, and remember and recall are the memory that the agents of a workspace share."

/** For how long a list may be used before it is asked for again; none of it is for others. */
const forAWhile = { ttlMs: 10_000, cacheScope: "private" }

/** How many tasks a client may listen to at once. */
const mostListened = 16

type Refusal = Forbidden | InvalidInput | NotFound | RunFinished | Unavailable
type Answered = Effect.Effect<Outcome, RpcError | Refusal>

/** The methods of the protocol (CONTRACT.md section 14). */
export const make = Effect.gen(function* () {
  const calls = yield* Calls.make
  const ids = yield* Ids
  const tasks = yield* Tasks.make
  const call = yield* CallMethod.make(calls, tasks)
  const { listen, ofTask, result } = taskMethods(tasks)

  const initialize = Effect.fnUntraced(function* ({ request: { params } }: Asked) {
    const version = agreedVersion(textOr(params.protocolVersion))
    const elicits = elicitsIn(params.capabilities, version)
    const taskSupport = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    const capabilities = { tools: {}, ...(version === "2025-11-25" && taskSupport) }
    const nonce = yield* ids.make<string>("request")
    return {
      result: { protocolVersion: version, capabilities, serverInfo, instructions },
      headers: { "mcp-session-id": session.write({ version, elicits, nonce }) }
    }
  })

  const discover = ({ exchange }: Asked): Answered => {
    const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } }
    const result = {
      supportedVersions: versions as Schema.JsonArray,
      capabilities,
      instructions,
      ...forAWhile
    }
    return Effect.succeed({ result: sent(exchange, result) })
  }

  const list = Effect.fnUntraced(function* (asked: Asked) {
    const { caller, exchange, request } = asked
    // Who is in several workspaces and names none has the tools that take one as an argument.
    const workspaceId = yield* calls.workplaces
      .resolve(caller, headerOf(asked))
      .pipe(Effect.catchTag("InvalidInput", () => Effect.undefined))
    const { nextCursor, tools } = yield* calls.agents.list(caller, workspaceId, request.params.cursor)
    const result = {
      tools: tools.map((tool) => definitionFor(exchange.version, tool)) as unknown as Schema.JsonArray,
      ...(nextCursor !== undefined && { nextCursor }),
      ...(exchange.isModern && forAWhile)
    }
    return { result: sent(exchange, result) }
  })

  const modern: Methods = {
    "server/discover": discover,
    "tools/list": list,
    "tools/call": call,
    "tasks/get": ofTask(tasks.get),
    "tasks/update": ofTask(tasks.update),
    "tasks/cancel": ofTask(tasks.cancel),
    "subscriptions/listen": listen
  }
  const legacy: Methods = {
    initialize,
    ping: () => Effect.succeed({ result: {} }),
    "tools/list": list,
    "tools/call": call
  }
  const withTasks: Methods = {
    ...legacy,
    "tasks/get": ofTask(tasks.get),
    "tasks/result": result,
    "tasks/list": ofTask(tasks.list),
    "tasks/cancel": ofTask(tasks.cancel)
  }

  /** What a request is answered: what the protocol does not have is an error of it, and so is what is refused. */
  const handle = (asked: Asked): Effect.Effect<Outcome, RpcError> => {
    const { exchange, request } = asked
    const methods = exchange.isModern ? modern : exchange.tasks ? withTasks : legacy
    const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined
    const answered: Answered = method?.(asked) ?? methodNotFound(request.method, exchange.isModern)
    return Effect.mapError(answered, (error) => (error instanceof RpcError ? error : rpcErrorOf(error)))
  }
  return { handle, tasks }
})

/** Those about tasks. One that there is not, and one that is not for the caller, are one answer. */
const taskMethods = (tasks: Effect.Success<typeof Tasks.make>) => {
  const ofTask = (
    work: (request: Tasks.TaskRequest) => Effect.Effect<Schema.JsonObject, RpcError | Refusal>
  ) => {
    return (asked: Asked): Answered => {
      const { caller, exchange, request } = asked
      if (!exchange.tasks) return missingCapability({ extensions: { [tasksExtension]: {} } })
      return work({ caller, exchange, header: headerOf(asked), params: request.params }).pipe(
        Effect.map((result) => ({ result: sent(exchange, result) })),
        Effect.catchTag("NotFound", () => Tasks.taskNotFound)
      )
    }
  }

  const result = (asked: Asked): Answered => {
    const { caller, exchange, request } = asked
    const ofRun = tasks.result({ caller, exchange, header: headerOf(asked), params: request.params })
    return ofRun.pipe(
      Effect.map((runId) => ({
        followed: { runId, kind: "task" as const, after: 0, rpcId: request.id, ofTask: true }
      })),
      Effect.catchTag("NotFound", () => Tasks.taskNotFound)
    )
  }

  const listen = ({ exchange, request }: Asked): Answered => {
    const { taskIds } = objectOr(request.params.notifications)
    const asked = Array.isArray(taskIds) ? taskIds.filter((id) => typeof id === "string") : []
    if (asked.length > 0 && !exchange.tasks)
      return missingCapability({ extensions: { [tasksExtension]: {} } })
    if (asked.length > mostListened) return invalidParams(`taskIds: must be at most ${mostListened}`)
    return Effect.succeed({ listened: asked as ReadonlyArray<string> as ReadonlyArray<RunId> })
  }

  return { listen, ofTask, result }
}

type Methods = Readonly<Record<string, (asked: Asked) => Answered>>

const rpcErrorOf = ({ _tag, error }: Refusal): RpcError =>
  _tag === "Unavailable" ? new RpcError({ code: -32603, message: error, status: 503 }) : invalidParams(error)
