import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { rejection } from "../../Schemas/Approval.ts"
import { storableJson } from "../../Schemas/Json.ts"
import { tooSlow } from "../../Schemas/Limits.ts"
import { cutResult } from "../../Schemas/Prompt.ts"
import type { ToolCall, ToolResult } from "../../Schemas/Tool.ts"
import { now } from "../CurrentTime.ts"
import type { Tool } from "../ToolSource.ts"

/** Whether a tool call may run now. */
export type Permission =
  | { readonly type: "allowed" }
  | { readonly type: "rejected"; readonly reason: string | null }
  | { readonly type: "undecided" }

export const allowed: Permission = { type: "allowed" }

/**
 * Calls a tool, if there is one and it may be called. What goes wrong in it is a result for the model, cut to
 * a size that can be kept; taking longer than `timeoutMillis` ends the work.
 */
export const callTool = Effect.fn("Engine.callTool")(function* (
  tool: Tool | undefined,
  permission: Exclude<Permission, { type: "undecided" }>,
  call: ToolCall,
  timeoutMillis: number
) {
  const startedAt = yield* now
  const { isError, result } =
    tool === undefined
      ? failed(`There is no tool named ${call.name}.`)
      : permission.type === "rejected"
        ? failed(rejection(permission.reason))
        : yield* tool.call(call.arguments).pipe(
            Effect.map((result): Outcome => ({ result, isError: false })),
            Effect.catchTag("ToolError", ({ error }) => Effect.succeed(failed(error))),
            Effect.timeoutOrElse({
              duration: timeoutMillis,
              orElse: () => Effect.fail(tooSlow("tool_time", `the tool ${call.name}`, timeoutMillis))
            })
          )
  const durationMs = (yield* now).getTime() - startedAt.getTime()
  const kept = cutResult(storableJson(result))
  return {
    type: "tool" as const,
    result: { id: call.id, name: call.name, result: kept, isError, durationMs }
  }
})

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
