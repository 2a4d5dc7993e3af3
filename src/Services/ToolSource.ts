import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoredConnector } from "../Schemas/Connector.ts"
import type { ConnectorTool } from "../Schemas/ConnectorHealth.ts"
import type { RateLimited, Unavailable } from "../Schemas/Errors.ts"
import type { ProjectId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import type { RunPolicy } from "../Schemas/Policy.ts"
import type { ToolDefinition } from "../Schemas/Tool.ts"
import type { AbsentConnector, ToolUnavailable } from "../Schemas/ToolAbsence.ts"
import type { ToolBinding, ToolPlace } from "../Schemas/ToolBinding.ts"

/** A call that failed, in words for the model. */
export class ToolError extends Schema.TaggedError<ToolError>()("ToolError", { error: Schema.String }) {}

/** Where a tool runs: all that it may touch. */
export interface ToolScope {
  /** The run or chat turn that it runs for. */
  readonly id: RunId
  readonly workspaceId: WorkspaceId
  readonly projectId: ProjectId | null
  /** The connectors that it names, whose tools may be used; null means all that are active. */
  readonly connectorIds: ReadonlyArray<string> | null
  /** Which of those it may have; it does without any that is not there. */
  readonly policy: Pick<RunPolicy, "connectorIds"> | null
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
  /** Null of a built-in tool. */
  readonly binding: ToolBinding | null
  /**
   * Arguments come as the model wrote them: the tool checks them itself. `ToolUnavailable` only where the call was
   * certainly not made.
   */
  readonly call: (
    argument: Schema.Json
  ) => Effect.Effect<Schema.Json, ToolError | ToolUnavailable | Unavailable>
}

/** What a model may be shown, and what it misses. */
export interface Offer {
  /** Names are unique within it. */
  readonly tools: ReadonlyArray<Tool>
  /**
   * Connectors of the scope that bring tools and whose tools are not there, 100 at most. Of those that the scope
   * names also the ones that are switched off or deleted.
   */
  readonly absent: ReadonlyArray<AbsentConnector>
}

/** The tools that an agent may call. */
export class ToolSource extends Context.Service<
  ToolSource,
  {
    /**
     * One that has just failed is not looked for again for a while, unless the scope names it: then it is looked for
     * each time.
     */
    readonly tools: (scope: ToolScope) => Effect.Effect<Offer, Unavailable>
    /**
     * The tool at this place as it is now, by a fresh look: the same connector, address and name there, and no
     * other. Its definition may have changed.
     */
    readonly find: (scope: ToolScope, place: ToolPlace) => Effect.Effect<Tool, ToolUnavailable | Unavailable>
    /**
     * What one connector brings, whatever its status, each tool with the name that a model knows it by; none where it
     * brings none, or can't be asked. Its server is asked at most once a minute, of one in ERROR each time. What asking
     * shows is reported (`ConnectorHealth`). `Unavailable` where others are looked at for 30 s and no place gets free.
     */
    readonly ofConnector: (
      connector: StoredConnector
    ) => Effect.Effect<ReadonlyArray<ConnectorTool>, RateLimited | Unavailable>
    /**
     * Asks the server of a connector now, if it leads to one, and reports what that shows; it takes a place, too.
     * `RateLimited` where this node was asked to 12 times at once and since then every 5 s, by this and by
     * `ofConnector` of one in ERROR; who joins one that is under way does not count.
     */
    readonly check: (connector: StoredConnector) => Effect.Effect<void, RateLimited | Unavailable>
    /** The tools that need no connector. */
    readonly builtin: (scope: ToolScope) => ReadonlyArray<Tool>
  }
>()("agentd/Services/ToolSource") {}
