import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import type { ToolDefinition } from "../Schemas/Tool.ts"

/** A call that failed, in words for the model. */
export class ToolError extends Schema.TaggedError<ToolError>()("ToolError", { error: Schema.String }) {}

/** Where a tool runs: all that it may touch. */
export interface ToolScope {
  readonly workspaceId: WorkspaceId
  readonly projectId: ProjectId | null
  /** The connectors whose tools may be used; null means all that are active. */
  readonly connectorIds: ReadonlyArray<string> | null
}

/**
 * What one tool call is known by, the same when it is made again after a crash: tools that change something
 * can tell by it that they have done this before. Null where a call is not made for a run.
 */
export const IdempotencyKey = Context.Reference<string | null>("agentd/Services/IdempotencyKey", {
  defaultValue: () => null
})

export interface Tool {
  readonly definition: ToolDefinition
  /** Arguments come as the model wrote them: the tool checks them itself. */
  readonly call: (argument: Schema.Json) => Effect.Effect<Schema.Json, ToolError | Unavailable>
}

/** The tools that an agent may call. */
export class ToolSource extends Context.Service<
  ToolSource,
  {
    /** Names are unique within the answer. */
    readonly tools: (scope: ToolScope) => Effect.Effect<ReadonlyArray<Tool>, Unavailable>
  }
>()("agentd/Services/ToolSource") {}
