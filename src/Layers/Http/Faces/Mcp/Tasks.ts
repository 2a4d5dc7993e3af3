import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { NotFound, Unavailable } from "../../../../Schemas/Errors.ts"
import { RunId } from "../../../../Schemas/Ids.ts"
import { isTerminal, type Run, type RunDetail } from "../../../../Schemas/Run.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Runs } from "../../../../Services/Runs.ts"
import { Settings, type SettingsShape } from "../../../../Services/Settings.ts"
import * as Asking from "./Asking.ts"
import type { Exchange } from "./Exchange.ts"
import { invalidParams, objectOr, RpcError } from "./Messages.ts"
import { opaque } from "./Opaque.ts"
import * as Results from "./Results.ts"
import * as Workplaces from "./Workplaces.ts"

const pollMillis = 2_000
const pageSize = 50

const cursors = opaque(Schema.fromJsonString(Schema.Struct({ after: RunId })))

/** Who asks for what. */
export interface TaskRequest {
  readonly caller: Caller
  readonly exchange: Exchange
  /** `X-Workspace-Id`. */
  readonly header: string | undefined
  readonly params: Schema.JsonObject
}

/** A run as a task of the protocol. A run that failed is a call that was answered with an error, which since 2026-07-28 is no failed task. */
const statusOf = (run: Run, isModern: boolean): string => {
  switch (run.status) {
    case "WAITING_APPROVAL":
      return "input_required"
    case "COMPLETED":
      return "completed"
    case "CANCELLED":
      return "cancelled"
    case "FAILED":
      return isModern ? "completed" : "failed"
    default:
      return "working"
  }
}

const messages: Readonly<Partial<Record<Run["status"], string>>> = {
  PENDING: "The run waits to begin.",
  WAITING_APPROVAL: "The run waits until somebody decides about a tool call.",
  CANCELLED: "The run was cancelled."
}

/** Tasks of the protocol are runs: their ids are those of runs, and nothing is kept of them beside. */
export const make = Effect.gen(function* () {
  const asking = yield* Asking.make
  const runs = yield* Runs
  const toTask = makeToTask(yield* Settings)
  const workplaces = yield* Workplaces.make

  const find = Effect.fnUntraced(function* ({ caller, header, params: { taskId } }: TaskRequest) {
    if (typeof taskId !== "string") return yield* invalidParams("taskId: is required")
    return yield* workplaces.run(caller, header, taskId)
  })

  /** With what there is of it: its result, or what it waits for. */
  const detail = Effect.fnUntraced(function* ({ caller, exchange }: TaskRequest, run: RunDetail) {
    const task = toTask(exchange, run, run.error)
    if (!exchange.isModern) return task
    if (run.status === "WAITING_APPROVAL") {
      const waiting = exchange.elicits ? yield* asking.waiting(caller, run.id) : []
      return { ...task, inputRequests: Asking.inputRequests(waiting) }
    }
    const { content, isError, structuredContent } = Results.outcomeOf(run)
    return task.status === "completed"
      ? {
          ...task,
          result: {
            content,
            isError,
            ...(structuredContent !== undefined && { structuredContent })
          } as Schema.JsonObject
        }
      : task
  })

  const get = (request: TaskRequest) => Effect.flatMap(find(request), (run) => detail(request, run))

  return {
    /** A run that was begun for a call, as the answer of that call. */
    created: Effect.fnUntraced(function* (request: TaskRequest) {
      const run = yield* find(request)
      return toTask(request.exchange, run)
    }),
    get,
    /** The run whose result is asked for. */
    result: (request: TaskRequest) => Effect.map(find(request), ({ id }) => id),
    /** Those of a workspace, the newest first. */
    list: Effect.fnUntraced(function* ({ caller, exchange, header, params: { cursor } }: TaskRequest) {
      const after = cursor === undefined ? undefined : Option.getOrUndefined(cursors.read(cursor))?.after
      if (cursor !== undefined && after === undefined)
        return yield* invalidParams("cursor: there is no such page")
      const workspaceId = yield* workplaces.resolve(caller, header)
      const { first } = (yield* runs.list(caller, { workspaceId, limit: pageSize, after })).runs
      const last = first.length === pageSize ? first.at(-1) : undefined
      return {
        tasks: first.map((run) => toTask(exchange, run)),
        ...(last !== undefined && { nextCursor: cursors.write({ after: last.id }) })
      }
    }),
    cancel: makeCancel(runs, find, toTask),
    /** What people have decided of what it waits for; what it does not wait for is passed over. */
    update: Effect.fnUntraced(function* (request: TaskRequest) {
      const run = yield* find(request)
      yield* asking.decideAll(request.caller, run.id, objectOr(request.params.inputResponses))
      return {}
    })
  }
})

type ToTask = (exchange: Exchange, run: Run, error?: string | null) => Schema.JsonObject

/** As long as runs are kept, so are tasks: a `ttl` that a client asks for changes nothing. */
const makeToTask = ({ runMillis }: SettingsShape): ToTask => {
  return ({ isModern }: Exchange, run: Run, error: string | null = null): Schema.JsonObject => {
    const message = error ?? messages[run.status]
    return {
      taskId: run.id,
      status: statusOf(run, isModern),
      ...(message !== undefined && { statusMessage: message }),
      createdAt: run.createdAt.toISOString(),
      lastUpdatedAt: run.updatedAt.toISOString(),
      ...(isModern
        ? { ttlMs: runMillis, pollIntervalMs: pollMillis }
        : { ttl: runMillis, pollInterval: pollMillis })
    }
  }
}

/** Before 2026-07-28 what is over can't be cancelled, and the task is the answer; since then there is nothing to say. */
const makeCancel = (
  runs: Runs["Service"],
  find: (request: TaskRequest) => Effect.Effect<RunDetail, NotFound | RpcError | Unavailable>,
  toTask: ToTask
) =>
  Effect.fnUntraced(function* (request: TaskRequest) {
    const { caller, exchange } = request
    const run = yield* find(request)
    if (isTerminal(run.status)) {
      if (exchange.isModern) return {}
      return yield* invalidParams(`taskId: the task is over: ${statusOf(run, false)}`)
    }
    const cancelled = yield* runs
      .cancel(caller, run.id)
      .pipe(
        Effect.catchTag("RunFinished", ({ error }) =>
          exchange.isModern ? Effect.succeed(run) : Effect.fail(invalidParams(`taskId: ${error}`))
        )
      )
    return exchange.isModern ? {} : toTask(exchange, cancelled)
  })

/** One sentence for a task that there is not and for one of somebody else. */
export const taskNotFound = new RpcError({ code: -32602, message: "task not found" })
