import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { RunId, UserId, WorkspaceId } from "../Schemas/Ids.ts"

/**
 * `runs`: there may be a run to take up, of this kind or of any. `run`: something happened to this one.
 * `watch`: somebody reads the events of these. `events`: they told more. `cron`: a cron job, or a
 * scheduled run, may be due sooner than any was.
 * `await`: somebody waits for these to be over or to wait for people. `settled`: they are or do, or left their worker.
 * `whoAwaits`: somebody has begun to listen, whoever waits says so again.
 * `lost`: signals may have been lost; said by whoever listens to the subscribers of its own process alone.
 * `budget`: that of this workspace, or of any, was set, or a call of it is over (`freed`) or waits for others (`waits`).
 * `webhooks`: there may be a delivery to send.
 * `cancelRequest`: whoever answers this request of MCP shall end what it has begun.
 * `rights`: this user may do less than before, or other things; the database says so itself (migration 27).
 */
export const Signal = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["cron", "webhooks", "whoAwaits", "lost"]) }),
  Schema.Struct({
    type: Schema.Literal("runs"),
    kind: Schema.optionalKey(Schema.Literals(["task", "turn"]))
  }),
  Schema.Struct({ type: Schema.Literal("run"), id: RunId }),
  Schema.Struct({
    type: Schema.Literals(["watch", "events", "await", "settled"]),
    ids: Schema.NonEmptyArray(RunId)
  }),
  Schema.Struct({
    type: Schema.Literal("budget"),
    workspaceId: Schema.optionalKey(WorkspaceId),
    what: Schema.Literals(["set", "freed", "waits"])
  }),
  Schema.Struct({ type: Schema.Literal("cancelRequest"), request: Schema.String }),
  Schema.Struct({ type: Schema.Literal("rights"), userId: UserId })
])
export type Signal = typeof Signal.Type

/**
 * Short messages between all nodes over one database, this one included. A hint, not a promise: one may be
 * lost, so whoever waits for one looks now and then by itself.
 */
export class Signals extends Context.Service<
  Signals,
  {
    /**
     * Never fails: what can't be sent is lost. Of many runs it may come in parts. Within a transaction it is told with
     * its commit, or not at all.
     */
    readonly publish: (signal: Signal) => Effect.Effect<void>
    /**
     * What is published from now on. `runs`, `cron`, `webhooks`, `budget` and `lost` also come when signals may have been
     * lost. A reader that falls behind loses the oldest.
     */
    readonly subscribe: Effect.Effect<Stream.Stream<Signal>, never, Scope.Scope>
  }
>()("agentd/Services/Signals") {}
