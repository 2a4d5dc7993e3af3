import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RunId } from "../../Schemas/Ids.ts"
import type { NumberedEvent } from "../../Schemas/RunEvent.ts"
import type { Caller } from "../../Schemas/Token.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"

/** What of a request says how its turn is told. */
export interface TurnRequest {
  readonly params: Readonly<Record<string, string | undefined>>
  readonly payload: Schema.JsonObject
  readonly workspaceHeader: string | undefined
}

/** A turn that has begun, with its events from the first on. */
export interface BegunTurn {
  readonly caller: Caller
  readonly turnId: RunId
  readonly events: Stream.Stream<NumberedEvent>
}

/** How a face begins a turn, and how it answers out of the events of one, which may be an earlier request's. */
export interface TurnFace<E> {
  readonly send: (
    caller: Caller,
    request: TurnRequest
  ) => Effect.Effect<Stream.Stream<NumberedEvent>, E, Scope.Scope>
  readonly answer: (
    turn: BegunTurn,
    request: TurnRequest
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>
}

/** Whether only the turn is wanted, since who keeps it under a key answers out of it. */
export class IsKept extends Context.Reference<boolean>("agentd/Layers/Http/TurnFace/IsKept", {
  defaultValue: () => false
}) {}

/** Begins a turn and answers out of it. */
export const answered = <E>(face: TurnFace<E>, caller: Caller, request: TurnRequest) =>
  Effect.gen(function* () {
    const events = yield* face.send(caller, request)
    if (yield* IsKept) return HttpServerResponse.stream(Stream.empty)
    const { turnId } = (yield* RequestFacts.CurrentRequest) ?? {}
    if (turnId === undefined) return yield* Effect.die(new Error("no turn has begun"))
    return yield* face.answer({ caller, turnId, events }, request)
  })
