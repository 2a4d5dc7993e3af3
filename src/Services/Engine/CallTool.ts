import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { notMade, rejection, toolChanged } from "../../Schemas/Approval.ts"
import { storableJson } from "../../Schemas/Json.ts"
import { cutResult } from "../../Schemas/Prompt.ts"
import type { ToolCall, ToolResult } from "../../Schemas/Tool.ts"
import { isSameTool, type ToolBinding } from "../../Schemas/ToolBinding.ts"
import { noToolNamed } from "../../Schemas/ToolName.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { whileOurs } from "../Lease.ts"
import { seriesOf, toolSeconds } from "../Metrics.ts"
import type { Tool } from "../ToolSource.ts"
import type { Toolbox } from "./Toolbox.ts"

/** Whether a tool call may run now. */
export type Permission =
  | { readonly type: "allowed"; readonly isApproved: boolean }
  | { readonly type: "rejected"; readonly reason: string | null }
  | { readonly type: "undecided" }

export const allowed: Permission = { type: "allowed", isApproved: false }

export interface Calling {
  /** Where it goes; nowhere, if there is no such tool. */
  readonly destination: Effect.Success<ReturnType<Toolbox["destinationOf"]>>
  readonly permission: Exclude<Permission, { type: "undecided" }>
  /** Asked again about a tool that has changed since. */
  readonly permit: (binding: ToolBinding | null) => Effect.Effect<Permission>
  readonly waits: boolean
  /** The tools that there are, where there is none of that name. */
  readonly names: () => ReadonlyArray<string>
}

/**
 * Calls a tool, if there is one and it may be called: one that has changed, only if nobody had to allow it, as it was
 * or as it is. What goes wrong in it is a result for the model, cut to a size that can be kept. One that can't be had
 * is `ToolUnavailable` where the run `waits` for it.
 */
export const callTool = Effect.fnUntraced(function* (
  call: ToolCall,
  { destination, names, permission, permit, waits }: Calling
) {
  const startedAt = yield* monotonicMillis
  const isApproved = permission.type === "allowed" && permission.isApproved
  const { isError, result } =
    destination === undefined
      ? failed(noToolNamed(call.name, names()))
      : permission.type === "rejected"
        ? failed(rejection(permission.reason))
        : yield* Effect.gen(function* () {
            const tool = yield* destination.tool
            const isSame = isSameTool(tool.binding, destination.binding)
            if (!isSame && (isApproved || (yield* permit(tool.binding)).type !== "allowed")) {
              return failed(toolChanged(isApproved))
            }
            return { result: yield* measured(tool, call), isError: false } satisfies Outcome
          }).pipe(
            Effect.catchTag("ToolError", ({ error }) => Effect.succeed(failed(error))),
            Effect.catchIf(
              (error) => !waits && error._tag === "ToolUnavailable",
              ({ error }) => Effect.succeed(failed(notMade(error, isApproved)))
            )
          )
  const durationMs = Math.round((yield* monotonicMillis) - startedAt)
  const kept = cutResult(storableJson(result))
  return {
    type: "tool" as const,
    result: { id: call.id, name: call.name, result: kept, isError, durationMs }
  }
})

/** The call, if it is still this node's to make, and how long it takes, whatever comes of it. */
const measured = ({ binding, call }: Tool, { arguments: given }: ToolCall) =>
  Effect.flatMap(Effect.andThen(whileOurs, monotonicMillis), (since) =>
    Effect.onExit(call(given), (exit) =>
      Effect.flatMap(monotonicMillis, (at) => {
        const source = binding === null ? "builtin" : "connector"
        return Metric.update(secondsOf(source, outcomeOf(exit)), (at - since) / 1000)
      })
    )
  )

const secondsOf = seriesOf(toolSeconds, "source", "outcome")

const outcomeOf = (exit: Exit.Exit<unknown, { readonly _tag: string }>): string => {
  if (Exit.isSuccess(exit)) return "ok"
  const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (failure === undefined) return "interrupted"
  return failure._tag === "ToolError" ? "error" : "unavailable"
}

interface Outcome {
  readonly result: Schema.Json
  readonly isError: boolean
}

const failed = (error: string): Outcome => ({ result: error, isError: true })

/** The result of a call that was told of, where a limit ends the work before it. */
export const brokenOff = ({ id, name }: ToolCall, reason: string): ToolResult => ({
  id,
  name,
  result: `This call was broken off: ${reason}.`,
  isError: true,
  durationMs: 0
})
