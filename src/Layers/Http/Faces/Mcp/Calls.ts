import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Agent } from "../../../../Schemas/Agent.ts"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import { RunId, type WorkspaceId } from "../../../../Schemas/Ids.ts"
import { type CreateTask, isSettled } from "../../../../Schemas/Run.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Chat } from "../../../../Services/Chat.ts"
import { monotonicMillis } from "../../../../Services/CurrentTime.ts"
import { Memory } from "../../../../Services/Memory.ts"
import * as RequestFacts from "../../../../Services/RequestFacts.ts"
import { Runs } from "../../../../Services/Runs.ts"
import { issueSentence } from "../../Problems.ts"
import * as Agents from "./Agents.ts"
import { agentInput, inputs, type ToolName } from "./Definitions.ts"
import { invalidParams, RpcError } from "./Messages.ts"
import * as Once from "./Once.ts"
import { opaque } from "./Opaque.ts"
import * as Results from "./Results.ts"
import * as Workplaces from "./Workplaces.ts"

export type Begun = Once.Begun

/** A call of a tool, and whose it is. */
export interface ToolCall {
  readonly caller: Caller
  /** `X-Workspace-Id`. */
  readonly header: string | undefined
  readonly name: string
  readonly arguments: Schema.JsonObject
  readonly key: string | undefined
}

const cursors = opaque(Schema.fromJsonString(Schema.Struct({ after: RunId })))

const decoders = Object.fromEntries(
  [...Object.entries(inputs), ["agent", agentInput] as const].map(([name, schema]) => [
    name,
    Schema.decodeUnknownEffect(schema as Schema.Codec<unknown, unknown>)
  ])
)

/** What a tool takes; otherwise a refusal that names the argument. */
const read = <N extends ToolName | "agent">(name: N, given: Schema.JsonObject) =>
  Effect.mapError(
    decoders[name]?.(given) ?? Effect.die(new Error(name)),
    ({ issue }) => new InvalidInput({ error: issueSentence(issue) ?? "arguments: must be an object" })
  ) as Effect.Effect<N extends ToolName ? (typeof inputs)[N]["Type"] : typeof agentInput.Type, InvalidInput>

type NewTask = Omit<CreateTask, "workspaceId"> & { readonly workspaceId?: WorkspaceId }

const isOwn = (name: string): name is ToolName => Object.hasOwn(inputs, name)

/** What the tools do. Each is a use case that is there, with what the caller may do. */
export const make = Effect.gen(function* () {
  const agents = yield* Agents.make
  const begin = yield* makeBegin
  const look = yield* makeLook
  const workplaces = yield* Workplaces.make

  /** The agent that a tool is, unless it is one of those that everybody has. */
  const agentOf = Effect.fnUntraced(function* ({ caller, header, name }: ToolCall) {
    const workspaceId = yield* workplaces.resolve(caller, header)
    const agent = yield* agents.find(caller, workspaceId, name)
    return agent ?? (yield* invalidParams(`Unknown tool: ${name.slice(0, 100)}`))
  })

  return {
    agents,
    workplaces,
    /** Whether a call may be made a task: of an agent, and of `send_task`. */
    mayBeTask: (name: string) => !isOwn(name) || name === "send_task",
    /**
     * What a call begins, or its answer. What the model may do something about is an answer that is an error; a tool that
     * there is not is an `RpcError`.
     */
    perform: (call: ToolCall): Effect.Effect<Begun, RpcError> =>
      Effect.gen(function* () {
        if (!isOwn(call.name)) return yield* begin.agent(call, yield* agentOf(call))
        const begins = begin.own[call.name]
        return begins !== undefined ? yield* begins(call) : { answer: yield* look(call, call.name) }
      }).pipe(
        Effect.catch((error) =>
          error instanceof RpcError ? Effect.fail(error) : Effect.succeed({ answer: Results.refused(error) })
        )
      ),
    /** What `send_task` answers of a run that it has begun, after `waitSeconds` of its arguments. */
    began: (call: ToolCall, runId: RunId) =>
      look({ ...call, arguments: { ...call.arguments, runId } }, "get_run")
  }
})

/** The tools that begin something, which a key does once. */
const makeBegin = Effect.gen(function* () {
  const chat = yield* Chat
  const memory = yield* Memory
  const once = yield* Once.make
  const runs = yield* Runs
  const workplaces = yield* Workplaces.make

  const within = <E, R>(
    { arguments: given, caller, header, key, name }: ToolCall,
    named: WorkspaceId | undefined,
    work: (workspaceId: WorkspaceId) => Effect.Effect<Once.Begun, E, R>
  ) =>
    Effect.flatMap(workplaces.resolve(caller, header, named), (workspaceId) =>
      once({ caller, key, asked: { name, arguments: given, workspaceId } }, work(workspaceId))
    )

  const task = (call: ToolCall, { workspaceId: named, ...input }: NewTask) =>
    within(call, named, (workspaceId) =>
      Effect.map(runs.create(call.caller, { ...input, workspaceId }), ({ id }) => ({
        runId: id,
        kind: "task" as const
      }))
    )

  /** The stream of a turn is left at once: what is told to the client is read by the id, whichever node it asks. */
  const turn = (call: ToolCall, { message, workspaceId: named, ...input }: typeof inputs.chat.Type) =>
    within(
      call,
      named,
      Effect.fnUntraced(function* (workspaceId) {
        const facts: RequestFacts.RequestFacts = { ...(yield* RequestFacts.CurrentRequest) }
        yield* Effect.scoped(chat.send(call.caller, { ...input, content: message, workspaceId })).pipe(
          Effect.provideService(RequestFacts.CurrentRequest, facts)
        )
        yield* RequestFacts.tell(facts)
        if (facts.turnId === undefined) return yield* Effect.die(new Error("no turn has begun"))
        return { runId: facts.turnId, kind: "turn" as const }
      })
    )

  const own: Partial<
    Record<
      ToolName,
      (
        call: ToolCall
      ) => Effect.Effect<Once.Begun, RpcError | Effect.Error<ReturnType<typeof turn | typeof task>>>
    >
  > = {
    send_task: (call) =>
      Effect.flatMap(read("send_task", call.arguments), ({ waitSeconds: _, ...input }) => task(call, input)),
    chat: (call) => Effect.flatMap(read("chat", call.arguments), (input) => turn(call, input)),
    remember: (call) =>
      Effect.flatMap(read("remember", call.arguments), ({ workspaceId: named, ...input }) =>
        within(call, named, (workspaceId) =>
          Effect.map(memory.upsert(call.caller, { ...input, workspaceId }), (entry) => ({
            answer: Results.rememberedAnswer(entry)
          }))
        )
      )
  }

  return {
    own,
    agent: (call: ToolCall, { id, workspaceId }: Pick<Agent, "id" | "workspaceId">) =>
      Effect.flatMap(read("agent", call.arguments), (input) =>
        task(call, { ...input, workspaceId, agentId: id })
      )
  }
})

/** The tools that answer at once. */
const makeLook = Effect.gen(function* () {
  const memory = yield* Memory
  const runs = yield* Runs
  const workplaces = yield* Workplaces.make

  const run = Effect.fnUntraced(function* ({ caller, header }: ToolCall, runId: RunId, waitSeconds = 0) {
    const found = yield* workplaces.run(caller, header, runId)
    if (waitSeconds === 0 || isSettled(found.status)) return Results.runAnswer(found)
    const since = yield* monotonicMillis
    yield* runs.wait(caller.id, runId, waitSeconds * 1_000)
    // What was waited for on purpose is no slowness.
    yield* RequestFacts.tell({ waitedMillis: (yield* monotonicMillis) - since })
    return Results.runAnswer(yield* workplaces.run(caller, header, runId))
  })

  const list = Effect.fnUntraced(function* (
    { caller, header }: ToolCall,
    input: typeof inputs.list_runs.Type
  ) {
    const { cursor, limit = 20, workspaceId: named, ...filter } = input
    const workspaceId = yield* workplaces.resolve(caller, header, named)
    const after = cursor === undefined ? undefined : Option.getOrUndefined(cursors.read(cursor))?.after
    if (cursor !== undefined && after === undefined) {
      return yield* new InvalidInput({ error: "cursor: there is no such page" })
    }
    const found = yield* runs.list(caller, { ...filter, workspaceId, limit, after })
    const shown = [...found.runs.first]
    const last = shown.at(-1)
    const next = last !== undefined && shown.length === limit ? cursors.write({ after: last.id }) : null
    return Results.listAnswer(shown, found.total, next)
  })

  return (call: ToolCall, name: ToolName) => {
    switch (name) {
      case "get_run":
        return Effect.flatMap(read(name, call.arguments), ({ runId, waitSeconds }) =>
          run(call, runId, waitSeconds)
        )
      case "cancel_run":
        return Effect.gen(function* () {
          const { runId } = yield* read(name, call.arguments)
          yield* workplaces.run(call.caller, call.header, runId)
          return Results.runAnswer(yield* runs.cancel(call.caller, runId))
        })
      case "list_runs":
        return Effect.flatMap(read(name, call.arguments), (input) => list(call, input))
      default:
        return Effect.gen(function* () {
          const { limit = 50, workspaceId: named, ...filter } = yield* read("recall", call.arguments)
          const workspaceId = yield* workplaces.resolve(call.caller, call.header, named)
          return Results.recalledAnswer(yield* memory.search(call.caller, { ...filter, workspaceId, limit }))
        })
    }
  }
})
