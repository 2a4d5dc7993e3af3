import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { ApprovalNeeded, HandedBack } from "../../Schemas/Execution.ts"
import type { JournalStep } from "../../Schemas/Journal.ts"
import { stepsExceeded } from "../../Schemas/Limits.ts"
import { toolAnswered, toolCalled } from "../../Schemas/RunEvent.ts"
import type { ToolCall, ToolResult } from "../../Schemas/Tool.ts"
import type { ToolUnavailable } from "../../Schemas/ToolAbsence.ts"
import type { BoundCall, ToolBinding } from "../../Schemas/ToolBinding.ts"
import type { DatabaseHealth } from "../DatabaseHealth.ts"
import type { SettingsShape } from "../Settings.ts"
import { IdempotencyKey } from "../ToolSource.ts"
import { withinLimit } from "./CallLimit.ts"
import { allowed, brokenOff, callTool, type Permission } from "./CallTool.ts"
import { unlessDraining } from "./Draining.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"
import * as Spans from "./Spans.ts"
import { type Steps, step } from "./Step.ts"
import type { Toolbox } from "./Toolbox.ts"
import type { AwaitTool } from "./ToolWait.ts"

export interface Calling {
  /** What the work is known by: calls are known by it and their own id. */
  readonly key: string
  /** Asked for each call that has no result yet, with the tool that it goes to; again if that has changed. */
  readonly permit: (call: BoundCall, binding: ToolBinding | null) => Effect.Effect<Permission>
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
 * permitted ones are done when `ApprovalNeeded` is told of those that nobody has decided about. One whose tool can't
 * be had is waited for beside the others, which go on: they are done when the work ends for it. When the process stops,
 * those that have begun are done and kept, and no others begin.
 */
export const callTools = Effect.fnUntraced(function* (
  calls: ReadonlyArray<BoundCall>,
  first: number,
  steps: Steps,
  { awaitTool, key, permit, toolbox }: Calling & { readonly awaitTool: AwaitTool; readonly toolbox: Toolbox },
  { toolConcurrency, toolTimeoutMillis }: SettingsShape,
  health: DatabaseHealth["Service"]
) {
  // All or none: a call that has begun is not cut off by the one that is too many.
  if (first + calls.length > steps.most) return yield* stepsExceeded(steps.most)
  for (const call of calls) yield* steps.log.emit(toolCalled(call))
  const telling = yield* makeTelling(calls, steps.log.emit)
  const places = yield* Semaphore.make(toolConcurrency)
  const undecided: Array<BoundCall> = []
  const unavailable: Array<ToolUnavailable> = []
  let isHandedBack = false

  const perform = Effect.fnUntraced(function* (call: BoundCall, position: number) {
    const isKnown = steps.finished.has(first + position)
    const destination = isKnown ? undefined : yield* toolbox.destinationOf(call)
    const permission = destination === undefined ? allowed : yield* permit(call, destination.binding)
    if (permission.type === "undecided") {
      undecided[position] = { ...call, binding: destination?.binding ?? null }
      return
    }
    const calling = {
      destination,
      permission,
      permit: (binding: ToolBinding | null) => permit(call, binding),
      waits: toolbox.waits,
      names: toolbox.names
    }
    const performed: Extract<JournalStep, { type: "tool" }> = yield* step(
      steps,
      first + position,
      "tool",
      // Who waits for a tool holds up no other call.
      withinLimit(unlessDraining(callTool(call, calling)), {
        health,
        millis: toolTimeoutMillis,
        name: call.name
      })
        .pipe(Spans.calling(call, destination), places.withPermits(1), awaitTool)
        .pipe(Effect.provideService(IdempotencyKey, `${key}/${call.id}`))
    )
    yield* telling.answer(position, performed.result)
  })

  const performAll = Effect.forEach(
    calls,
    (call, position) =>
      Effect.catchTags(perform(call, position), {
        // Those beside it are not to be interrupted.
        HandedBack: () =>
          Effect.sync(() => {
            isHandedBack = true
          }),
        ToolUnavailable: (error) => Effect.sync(() => void unavailable.push(error))
      }),
    { concurrency: "unbounded", discard: true }
  )
  yield* Effect.tapErrorTag(performAll, "LimitExceeded", ({ error }) => telling.breakOff(error))
  for (const error of unavailable) {
    yield* telling.breakOff(error.error)
    return yield* error
  }
  if (isHandedBack) return yield* new HandedBack()
  const done = telling.results.filter((result) => result !== undefined)
  if (done.length === calls.length) return done
  return yield* new ApprovalNeeded({ calls: undecided.filter((call) => call !== undefined) })
})
