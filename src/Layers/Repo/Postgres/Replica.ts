import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { isFresh, staleMillis } from "../../../Schemas/ReplicaLag.ts"
import { monotonicMillisOf } from "../../../Services/CurrentTime.ts"
import * as Metrics from "../../../Services/Metrics.ts"
import { inLane } from "./Lanes.ts"
import type { ReplicaState } from "./ReplicaState.ts"

/** Reads that may be a second old, and what is known of who wrote last. */
interface Replica {
  /**
   * What the replica answers, or the primary: of what was written through this node (`written`), which the replica does
   * not have yet, of all where it is too old, and where it fails or is silent. `effect` only reads: it may be done twice.
   */
  readonly read: <A, E, R>(
    of: string | ReadonlyArray<string>,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
  /** What is read of these from now on is no older than this. */
  readonly written: (of: ReadonlyArray<string>) => Effect.Effect<void>
}

/** The replica of the database, if there is one. */
export class Replicated extends Context.Reference<Replica | undefined>(
  "agentd/Layers/Repo/Postgres/Replicated",
  { defaultValue: () => undefined }
) {}

const ofReplica = Metric.withAttributes(Metrics.databaseReads, { where: "replica" })
const ofPrimary = Metric.withAttributes(Metrics.databaseReads, { where: "primary" })

/** `limitMillis`: what the replica may take of the time that a request has, so that the primary still has some. */
export const make = Effect.fnUntraced(function* (state: ReplicaState, limitMillis: number) {
  yield* Metric.update(ofReplica, 0)
  yield* Metric.update(ofPrimary, 0)
  const writes = makeWrites()

  const onPrimary = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.andThen(Metric.update(ofPrimary, 1), inLane("lists")(effect))

  const onReplica = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.contextWith((context: Context.Context<R>) =>
      Effect.callback<A, E, R>((resume) => {
        const run = Effect.runForkWith(context)
        const fiber = run(inLane("replica")(effect))
        // Stopping may itself wait for a server that is frozen: what is late is told to stop and left behind.
        const giveUp = () => {
          resume(Effect.andThen(state.failed("it does not answer in time"), onPrimary(effect)))
          fiber.interruptUnsafe()
        }
        const timer = run(Effect.andThen(Effect.sleep(limitMillis), Effect.sync(giveUp)))
        const leave = state.onSilence(giveUp)
        const end = () => {
          timer.interruptUnsafe()
          leave()
        }
        fiber.addObserver((exit) => {
          end()
          // What only the primary has yet is no reason to complain, and neither is a failure of both.
          if (Exit.isSuccess(exit)) resume(Effect.as(Metric.update(ofReplica, 1), exit.value))
          else resume(Effect.andThen(state.failedWith(Cause.squash(exit.cause)), onPrimary(effect)))
        })
        return Effect.sync(() => {
          end()
          fiber.interruptUnsafe()
        })
      })
    )

  return {
    read: (of, effect) =>
      Effect.flatMap(Clock.Clock, (clock) =>
        isFresh(state.lag(), monotonicMillisOf(clock), Math.max(...[of].flat().map(writes.latest)))
          ? onReplica(effect)
          : onPrimary(effect)
      ),
    written: (of) =>
      of.length === 0
        ? Effect.void
        : Clock.clockWith((clock) => Effect.sync(() => writes.add(of, monotonicMillisOf(clock))))
  } satisfies Replica as Replica
})

/** So much later the log on the disk has the commit, also where none waits for that (`synchronous_commit = off`). */
const settledMillis = 1_000

/** When was written last, for as long as it matters, in two generations. */
const makeWrites = () => {
  let recent = new Map<string, number>()
  let former = new Map<string, number>()
  let since = 0
  return {
    add: (of: ReadonlyArray<string>, now: number) => {
      if (now - since > settledMillis + 2 * staleMillis) {
        former = recent
        recent = new Map()
        since = now
      }
      for (const one of of) recent.set(one, now + settledMillis)
    },
    latest: (of: string): number => recent.get(of) ?? former.get(of) ?? Number.NEGATIVE_INFINITY
  }
}
