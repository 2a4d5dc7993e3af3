import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { ApprovalNeeded } from "../../Schemas/Execution.ts"
import type { JournalStep } from "../../Schemas/Journal.ts"
import { stepsExceeded } from "../../Schemas/Limits.ts"
import { toolAnswered, toolCalled } from "../../Schemas/RunEvent.ts"
import type { ToolCall, ToolDefinition, ToolResult } from "../../Schemas/Tool.ts"
import type { SettingsShape } from "../Settings.ts"
import { IdempotencyKey, type Tool } from "../ToolSource.ts"
import { allowed, brokenOff, callTool, type Permission } from "./CallTool.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"
import { patiently } from "./Patience.ts"
import { type Steps, step } from "./Step.ts"

export interface Calling {
  readonly tools: ReadonlyArray<Tool>
  /** What the work is known by: calls are known by it and their own id. */
  readonly key: string
  /** Asked once for each call of a tool that is there and has no result yet. */
  readonly permit: (call: ToolCall, tool: ToolDefinition) => Effect.Effect<Permission>
}

/** Results are told in the order of their calls, each as soon as those before it are. */
const makeTelling = Effect.fnUntraced(function* (calls: ReadonlyArray<ToolCall>, emit: ExecutionLog["emit"]) {
  const results: Array<ToolResult | undefined> = calls.map(() => undefined)
  const telling = yield* Semaphore.make(1)
  let told = 0
  const tell = Effect.gen(function* () {
    for (let result = results[told]; result !== undefined; result = results[told]) {
      told++
      yield* emit(toolAnswered(result))
    }
  }).pipe(telling.withPermits(1))
  return {
    results,
    answer: (position: number, result: ToolResult) =>
      Effect.suspend(() => {
        results[position] = result
        return tell
      }),
    /** Gives every other call that was told of a result: a limit ends the work. */
    breakOff: (reason: string) =>
      Effect.suspend(() => {
        for (const [position, call] of calls.entries()) results[position] ??= brokenOff(call, reason)
        return tell
      })
  }
})

/**
 * Makes the calls of one model answer, the steps from `first` on, a bounded number of them at the same time. The
 * permitted ones are done when `ApprovalNeeded` is told of those that nobody has decided about.
 */
export const callTools = Effect.fnUntraced(function* (
  calls: ReadonlyArray<ToolCall>,
  first: number,
  steps: Steps,
  { key, permit, tools }: Calling,
  { toolConcurrency, toolTimeoutMillis }: SettingsShape
) {
  // All or none: a call that has begun is not cut off by the one that is too many.
  if (first + calls.length > steps.most) return yield* stepsExceeded(steps.most)
  for (const call of calls) yield* steps.log.emit(toolCalled(call))
  const telling = yield* makeTelling(calls, steps.log.emit)

  const perform = Effect.fnUntraced(function* (call: ToolCall, position: number) {
    const tool = tools.find(({ definition }) => definition.name === call.name)
    const isKnown = steps.finished.has(first + position)
    const permission = tool === undefined || isKnown ? allowed : yield* permit(call, tool.definition)
    if (permission.type === "undecided") return
    const performed: Extract<JournalStep, { type: "tool" }> = yield* step(
      steps,
      first + position,
      "tool",
      patiently(callTool(tool, permission, call, toolTimeoutMillis)).pipe(
        Effect.provideService(IdempotencyKey, `${key}/${call.id}`)
      )
    )
    yield* telling.answer(position, performed.result)
  })

  yield* Effect.forEach(calls, perform, { concurrency: toolConcurrency, discard: true }).pipe(
    Effect.tapErrorTag("LimitExceeded", ({ error }) => telling.breakOff(error))
  )
  const done = telling.results.filter((result) => result !== undefined)
  if (done.length === calls.length) return done
  return yield* new ApprovalNeeded({
    calls: calls.filter((_, position) => telling.results[position] === undefined)
  })
})
