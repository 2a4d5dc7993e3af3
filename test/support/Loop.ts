import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import { modelChoice } from "../../src/Schemas/ModelChoice.ts"
import { AgentLoop, type LoopEvent, type LoopInput } from "../../src/Services/AgentLoop.ts"
import type { Journal } from "../../src/Services/RunJournal.ts"
import { allowed } from "../../src/Services/ToolCalls.ts"
import type { Tool } from "../../src/Services/ToolSource.ts"
import { ScriptedModel, says } from "./Service.ts"

export const tool = (name: string, call: Tool["call"]): Tool => ({
  definition: { name, description: name, parameters: {}, readOnly: true },
  call
})
/** A journal that remembers nothing, and work that never asks. */
export const noJournal: Journal = { finished: new Map(), record: () => Effect.succeed(true) }
export const permitAll = () => Effect.succeed(allowed)
export const choice = modelChoice("ws_1" as WorkspaceId, null, {})
export const echo = tool("echo", (argument) => Effect.succeed({ echoed: argument }))

/** What the loop makes of a model that gives these answers in turn. */
export const runWith = Effect.fnUntraced(function* (options: {
  readonly answers: ReadonlyArray<ReturnType<typeof says>>
  readonly tools?: ReadonlyArray<Tool>
  readonly journal?: Journal
  readonly permit?: LoopInput["permit"]
}) {
  const model = yield* ScriptedModel
  const answers = [...options.answers]
  model.script = () => Stream.fromIterable(answers.shift() ?? says("no more"))
  const events: Array<LoopEvent> = []
  const loop = yield* AgentLoop
  const exit = yield* Effect.result(
    loop.run({
      request: {
        choice,
        system: "be brief",
        messages: [{ role: "user", content: "hi" }]
      },
      tools: options.tools ?? [echo],
      journal: options.journal ?? noJournal,
      key: "run_1",
      permit: options.permit ?? permitAll,
      patiently: (effect) => effect,
      emit: (event) => Effect.sync(() => void events.push(event))
    })
  )
  return { exit, events, requests: model.requests }
})
