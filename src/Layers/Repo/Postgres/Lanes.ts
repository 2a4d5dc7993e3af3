import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Which sessions a statement takes: those of the work, those for lists, or those of the replica. */
export type Lane = "work" | "lists" | "replica"

/** The lane of what is asked now. In a transaction there is one session, whatever this says. */
export class CurrentLane extends Context.Reference<Lane>("agentd/Layers/Repo/Postgres/CurrentLane", {
  defaultValue: () => "work"
}) {}

export const inLane =
  (lane: Lane) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, CurrentLane, lane)
