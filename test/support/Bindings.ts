import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { GivenTool } from "../../src/Schemas/GivenTool.ts"
import { ConnectorId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { RunEvent } from "../../src/Schemas/RunEvent.ts"
import { type AbsentConnector, away, toolUnavailable } from "../../src/Schemas/ToolAbsence.ts"
import type { BoundCall, ToolBinding } from "../../src/Schemas/ToolBinding.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { AgentLoop, type LoopInput } from "../../src/Services/Engine/AgentLoop.ts"
import type { ToolAccess } from "../../src/Services/Engine/Toolbox.ts"
import type { Tool } from "../../src/Services/ToolSource.ts"
import { makeInput, tool } from "./Loop.ts"
import { ScriptedModel, says } from "./Service.ts"

/** Of a tool `write`, for tests that ask no server. */
export const binding: ToolBinding = {
  connectorId: ConnectorId.make("conn_1"),
  connectorName: "docs",
  address: "https://docs.example.org/mcp",
  place: "p",
  tool: "write",
  definition: "d",
  description: "writes",
  readOnly: false
}
export const other: ToolBinding = { ...binding, connectorId: ConnectorId.make("conn_2"), place: "q" }
export const unavailable = toolUnavailable(binding, away("the server could not be reached"))
export const away1: AbsentConnector = { id: binding.connectorId, name: "docs", why: "away", isGone: false }

export const written = (call: Tool["call"], of = binding): Tool => ({
  ...tool("docs__write", call),
  binding: of
})

/** What the loop makes of an answer with these calls that was journaled before, and of the answers after it. */
export const resume = Effect.fnUntraced(function* (options: {
  readonly calls: ReadonlyArray<BoundCall>
  readonly access: Partial<ToolAccess>
  readonly permit?: LoopInput["permit"]
  readonly toolbox?: ReadonlyArray<Tool>
  readonly given?: ReadonlyArray<GivenTool>
}) {
  const model = yield* ScriptedModel
  model.script = () => Stream.fromIterable(says("done"))
  const events: Array<RunEvent> = []
  const recorded: Array<JournalStep> = []
  const { given } = options
  const step: JournalStep = {
    type: "model",
    text: "",
    toolCalls: options.calls,
    usage: noUsage,
    ...(given !== undefined && { given })
  }
  const input = makeInput({
    tools: options.toolbox ?? [],
    events,
    permit: options.permit,
    journal: {
      finished: new Map([[0, step]]),
      record: (_, step) => Effect.sync(() => recorded.push(step) > 0)
    }
  })
  const loop = yield* AgentLoop
  const running = yield* Effect.forkChild(
    Effect.result(loop.answer({ ...input, access: { ...input.access, ...options.access } }))
  )
  const results = () => recorded.flatMap((step) => (step.type === "tool" ? [step.result] : []))
  return { events, model, results, running }
})

export const called = (id: string, given: Partial<BoundCall> = {}): BoundCall => ({
  id,
  name: "docs__write",
  arguments: {},
  binding,
  ...given
})
