import * as Effect from "effect/Effect"
import type { Unavailable } from "../../src/Schemas/Errors.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import type { EventBatch, NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import type { Execution } from "../../src/Services/RunRepo.ts"
import type { Acknowledged } from "./Acknowledged.ts"
import type { Backend } from "./Backends.ts"
import { below, isLucky, pick } from "./Chance.ts"

/** An execution as a caller remembers it, long after others may have taken its run. */
interface Held extends Execution {
  readonly turn: StoredRun["turn"]
  /** Unknown until it first tells something. */
  nextEvent: number | undefined
  /** Whether it has parked or ended its run: it tells nothing after that, and says the same again. */
  isOver: boolean
}

const mostHeld = 25

export const eventOf = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: `${id}` } }
})

/** The executions of one caller, the newest first. */
export const make = Effect.fnUntraced(function* (worker: string, acknowledged: Acknowledged) {
  const events = yield* RunEventRepo
  const held: Array<Held> = []

  const nextBatch = Effect.fnUntraced(function* (execution: Held) {
    if (execution.nextEvent === undefined) {
      const seen = yield* events.glance([execution.id])
      execution.nextEvent = 1 + (seen.get(execution.id)?.lastId ?? 0)
    }
    const first = execution.nextEvent
    const more = yield* below(3)
    const batch: EventBatch = [
      eventOf(first),
      ...Array.from({ length: more }, (_, n) => eventOf(first + 1 + n))
    ]
    return batch
  })

  return {
    held: held as ReadonlyArray<Held>,
    hold: ({ epoch, id, turn }: StoredRun, nextEvent?: number) => {
      held.unshift({ id, worker, epoch, turn, nextEvent, isOver: false })
      held.splice(mostHeld)
    },
    /**
     * A write of an execution, latest or not, with events that go on after those that it knows. None where no
     * execution suits.
     */
    write: (
      work: (
        execution: Held,
        batches: ReadonlyArray<EventBatch>
      ) => Effect.Effect<boolean, Unavailable, Backend>,
      { isLast = false, suits = () => true }: { isLast?: boolean; suits?: (execution: Held) => boolean } = {}
    ) =>
      Effect.gen(function* () {
        const fitting = held.filter(suits)
        if (fitting.length === 0) return undefined
        const execution = yield* pick((yield* isLucky(70)) ? fitting.slice(0, 3) : fitting)
        const batch = yield* nextBatch(execution)
        const isDone = yield* Effect.onError(work(execution, execution.isOver ? [] : [batch]), () =>
          // Whether it was written is not known.
          Effect.sync(() => held.splice(held.indexOf(execution), 1))
        )
        if (isDone && !execution.isOver) {
          acknowledged.batch(execution.id, batch)
          execution.nextEvent = (batch.at(-1)?.id ?? 0) + 1
          execution.isOver = isLast
        }
        return isDone
      })
  }
})
