import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { OwnershipLost } from "../../src/Schemas/Execution.ts"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { modelChoice } from "../../src/Schemas/ModelChoice.ts"
import type { RunEvent } from "../../src/Schemas/RunEvent.ts"
import { plainInput } from "../../src/Schemas/TurnInput.ts"
import { AgentLoop, type LoopInput } from "../../src/Services/Engine/AgentLoop.ts"
import { allowed } from "../../src/Services/Engine/CallTool.ts"
import type { Tool } from "../../src/Services/ToolSource.ts"
import { ScriptedModel, says } from "./Service.ts"

/** The steps that finished before, and what becomes of others: false when the work is another's. */
export interface Journal {
  readonly finished: ReadonlyMap<number, JournalStep>
  readonly record: (index: number, step: JournalStep) => Effect.Effect<boolean>
}

export const tool = (name: string, call: Tool["call"]): Tool => ({
  definition: { name, description: name, parameters: {}, readOnly: true },
  binding: null,
  call
})
/** A journal that remembers nothing, and work that never asks. */
const noJournal: Journal = { finished: new Map(), record: () => Effect.succeed(true) }
const permitAll = () => Effect.succeed(allowed)
export const choice = modelChoice("ws_1" as WorkspaceId, null, {})
export const echo = tool("echo", (argument) => Effect.succeed({ echoed: argument }))

/** What the loop is given, where a test says nothing else; `events` are those that it tells. */
export const makeInput = (options: {
  readonly tools: ReadonlyArray<Tool>
  readonly events?: Array<RunEvent>
  readonly journal?: Journal | undefined
  readonly permit?: LoopInput["permit"] | undefined
  readonly given?: Partial<LoopInput["given"]> | undefined
}): LoopInput => {
  const { finished, record } = options.journal ?? noJournal
  return {
    request: { choice, system: "be brief", messages: [{ role: "user", content: "hi" }] },
    access: {
      builtin: options.tools,
      offer: Effect.succeed({ tools: options.tools, absent: [] }),
      find: () => Effect.die("no tool of a connector"),
      mayHave: () => true,
      waits: true
    },
    maxSteps: null,
    given: { ...plainInput, owner: "ws_1", ...options.given },
    finished,
    log: {
      emit: (event) => Effect.sync(() => void options.events?.push(event)),
      record: (index, step) =>
        Effect.flatMap(record(index, step), (isOurs) => (isOurs ? Effect.void : new OwnershipLost()))
    },
    key: "run_1",
    messageId: null,
    permit: options.permit ?? permitAll
  }
}

/** What the loop makes of a model that gives these answers in turn. */
export const runWith = Effect.fnUntraced(function* (options: {
  readonly answers: ReadonlyArray<ReturnType<typeof says>>
  readonly tools?: ReadonlyArray<Tool>
  readonly journal?: Journal
  readonly permit?: LoopInput["permit"]
  readonly given?: Partial<LoopInput["given"]>
}) {
  const model = yield* ScriptedModel
  const answers = [...options.answers]
  model.script = () => Stream.fromIterable(answers.shift() ?? says("no more"))
  const events: Array<RunEvent> = []
  const loop = yield* AgentLoop
  const { given, journal, permit, tools = [echo] } = options
  const exit = yield* Effect.result(loop.answer(makeInput({ tools, events, journal, permit, given })))
  return { exit, events, requests: model.requests }
})
