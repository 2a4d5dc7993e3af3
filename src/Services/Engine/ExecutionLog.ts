import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import type { Unavailable } from "../../Schemas/Errors.ts"
import { OwnershipLost } from "../../Schemas/Execution.ts"
import { answersIn, type JournalStep, spentBy, spentOf } from "../../Schemas/Journal.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import {
  type EventBatch,
  isResponding,
  nothingTold,
  type RunEvent,
  resumed,
  type Told,
  tell
} from "../../Schemas/RunEvent.ts"
import { addSpent, nothingSpent, type Spent, toUsage, type Usage } from "../../Schemas/Usage.ts"
import { monotonicMillis, now } from "../CurrentTime.ts"
import { RunEventRepo } from "../RunEventRepo.ts"
import { RunJournal } from "../RunJournal.ts"
import type { Execution } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import { Signals } from "../Signals.ts"
import type { Outcome, Source } from "./EventStatements.ts"
import { Flusher } from "./Flusher.ts"
import type { EventListener } from "./LiveEvents.ts"
import { patiently } from "./Patience.ts"
import * as PendingEvents from "./PendingEvents.ts"
import { WatchedRuns } from "./WatchedRuns.ts"

const batchesAtOnce = 100

/**
 * What one execution writes: its steps into the journal, and its events, which are told at once to whoever listens
 * here and kept for everybody else. One write at a time; while the store is away it is tried again.
 */
export interface ExecutionLog {
  readonly execution: Execution
  /** What the run cost so far, by its finished steps. */
  readonly usage: () => Usage
  /** The same with all that is counted. */
  readonly spent: () => Spent
  /** When it first said something in this execution. */
  readonly firstTokenAt: () => Date | null
  /** For how long the run has been worked on, all its executions together. */
  readonly workedMillis: Effect.Effect<number>
  /**
   * Goes on behind these steps: what was told of an answer that is asked for again is taken back. Before anything is
   * emitted.
   */
  readonly resume: (
    steps: ReadonlyMap<number, JournalStep>,
    workedMillis?: number
  ) => Effect.Effect<void, OwnershipLost>
  /**
   * Keeps it with the next write, or by itself after 250 ms; the first at once, if somebody watches elsewhere.
   * What was told of before is left out.
   */
  readonly emit: (event: RunEvent) => Effect.Effect<void>
  /** Keeps a step that has just finished. */
  readonly record: (index: number, step: JournalStep) => Effect.Effect<void, OwnershipLost>
  /**
   * Writes the events that are not kept yet together with something else; they count as kept when `save` answers
   * true, and the execution is no longer the latest when it answers false. `last` are told when they are kept, and
   * not before.
   */
  readonly write: (
    save: (batches: ReadonlyArray<EventBatch>) => Effect.Effect<boolean, Unavailable>,
    last?: ReadonlyArray<RunEvent>
  ) => Effect.Effect<void, OwnershipLost>
  /** Tells of the end, which follows from the run and so is not kept. */
  readonly tellEnd: (event: RunEvent) => Effect.Effect<void>
  /** Forgets what is not kept yet: it can't be stored. */
  readonly discard: Effect.Effect<void>
  /** What waits is written by the flusher meanwhile; ends only when the execution is no longer the latest. */
  readonly flushing: Effect.Effect<never, OwnershipLost>
}

export const make = Effect.gen(function* () {
  const events = yield* RunEventRepo
  const flusher = yield* Flusher
  const journals = yield* RunJournal
  const { worker } = yield* Settings
  const signals = yield* Signals
  const watchers = yield* WatchedRuns

  /** What the run told before, in this execution's terms. */
  const toldBefore = Effect.fnUntraced(function* (run: StoredRun) {
    // The first event of a turn, `conversation`, was kept with its message.
    if (isFirst(run)) return run.turn === null ? nothingTold : { ...nothingTold, lastId: 1 }
    let told = nothingTold
    while (true) {
      const more = yield* patiently(events.read(run.id, told.lastId, batchesAtOnce))
      if (more.length === 0) return resumed(told, run.epoch)
      for (const event of more) told = tell(told, event)
    }
  })

  /** Opens the log of a run that this worker owns. */
  return Effect.fnUntraced(function* (run: StoredRun, listener: EventListener | undefined) {
    const told = yield* Effect.catchDefect(toldBefore(run), (defect) =>
      // Events that can't be read hold up no run.
      Effect.as(Effect.logError("events can't be read", Cause.die(defect)), resumed(nothingTold, run.epoch))
    )
    return yield* open({
      execution: { id: run.id, worker, epoch: run.epoch },
      told,
      events,
      flusher,
      journals,
      listen: listener?.offer ?? (() => Effect.void),
      kept: Effect.flatMap(watchers.isWatched(run.id), (isWatched) =>
        isWatched ? signals.publish({ type: "events", ids: [run.id] }) : Effect.void
      )
    })
  })
})

/** Whether nobody has executed it before, so that there is nothing to look up. */
export const isFirst = ({ attempts, epoch }: StoredRun): boolean => attempts === 1 && epoch === 1

interface Opened {
  readonly execution: Execution
  readonly told: Told
  readonly events: Pick<RunEventRepo["Service"], "truncate">
  readonly flusher: Flusher["Service"]
  readonly journals: RunJournal["Service"]
  readonly listen: EventListener["offer"]
  /** Something was kept with something else. */
  readonly kept: Effect.Effect<void>
}

/** For how long a run has been worked on, in this execution and before it. */
const makeWorked = Effect.map(monotonicMillis, (begunAt) => {
  let before = 0
  return {
    resume: (millis: number) => {
      before = millis
    },
    millis: Effect.map(monotonicMillis, (at) => before + at - begunAt)
  }
})

/**
 * One write at a time, of the execution itself or of the flusher; what it did not keep is pending again. The flusher
 * writes only while it is `open`.
 */
const makeWriter = Effect.fnUntraced(function* (
  pending: PendingEvents.PendingEvents,
  firstTokenAt: () => Date | null,
  { execution, flusher, kept, listen }: Opened
) {
  const one = yield* Semaphore.make(1)
  const lost = yield* Latch.make(false)
  let isFirst = true
  let isOpen = false
  let flushed: PendingEvents.Taken | undefined

  const source: Source = {
    id: execution.id,
    isFirst: () => {
      const was = isFirst && isOpen
      if (isOpen) isFirst = false
      return was
    },
    begin: Effect.suspend(() =>
      !isOpen || pending.isEmpty()
        ? Effect.undefined
        : Effect.map(one.takeIfAvailable(1), (isFree) => {
            if (!isFree) return undefined
            flushed = pending.take([])
            return { execution, batches: flushed.batches, firstTokenAt: firstTokenAt() }
          })
    ),
    settle: (outcome: Outcome) =>
      Effect.suspend(() => {
        if (outcome === "kept" && flushed !== undefined) pending.settle(flushed)
        if (outcome === "lost") {
          isOpen = false
          lost.openUnsafe()
        }
        return Effect.as(one.release(1), isOpen && !pending.isEmpty())
      })
  }
  const flushRest = Effect.sync(() => {
    if (isOpen && !pending.isEmpty()) flusher.add(source)
  })

  return {
    pends: () => flusher.add(source),
    flushing: Effect.sync(() => {
      isOpen = true
    }).pipe(
      Effect.andThen(flushRest),
      Effect.andThen(lost.await),
      Effect.flatMap(() => new OwnershipLost()),
      Effect.ensuring(
        Effect.sync(() => {
          isOpen = false
        })
      )
    ),
    write: <E>(
      save: (batches: ReadonlyArray<EventBatch>) => Effect.Effect<boolean, E>,
      last: ReadonlyArray<RunEvent>
    ) =>
      Effect.gen(function* () {
        const taken = pending.take(last)
        const isOurs = yield* Effect.onError(save(taken.batches), () =>
          Effect.sync(() => pending.refuse(taken))
        )
        if (!isOurs) return yield* new OwnershipLost()
        pending.settle(taken)
        for (const event of taken.last ?? []) yield* listen(event)
        yield* kept
      }).pipe(one.withPermits(1), Effect.ensuring(flushRest))
  }
})

/** `told` is what the run told before. */
export const open = Effect.fnUntraced(function* (options: Opened) {
  const { events, execution, journals, listen } = options
  const pending = PendingEvents.make(options.told)
  const worked = yield* makeWorked
  let firstTokenAt: Date | null = null
  let spent = nothingSpent
  const writer = yield* makeWriter(pending, () => firstTokenAt, options)

  const write: ExecutionLog["write"] = (save, last = []) =>
    writer.write((batches) => patiently(save(batches)), last)

  return {
    execution,
    usage: () => toUsage(spent),
    spent: () => spent,
    firstTokenAt: () => firstTokenAt,
    workedMillis: worked.millis,
    resume: Effect.fnUntraced(function* (steps, workedMillis = 0) {
      worked.resume(workedMillis)
      spent = spentOf(steps.values())
      const answers = answersIn(steps)
      const told = pending.voidBehind(answers)
      if (told === undefined) return
      const isOurs = yield* patiently(events.truncate(execution, told.from, told.to))
      if (!isOurs) return yield* new OwnershipLost()
      pending.forget(answers)
    }),
    emit: (event) => {
      const emitted = Effect.suspend(() => {
        const numbered = pending.add(event)
        if (numbered === undefined) return Effect.void
        writer.pends()
        return listen(numbered)
      })
      if (firstTokenAt !== null || !isResponding(event)) return emitted
      return Effect.flatMap(now, (at) => {
        firstTokenAt = at
        return emitted
      })
    },
    record: Effect.fnUntraced(function* (index, step) {
      const workedMillis = yield* worked.millis
      yield* write((batches) => journals.record(execution, index, step, batches, workedMillis))
      spent = addSpent(spent, spentBy(step))
    }),
    write,
    tellEnd: (event) => Effect.suspend(() => listen(pending.number(event))),
    discard: Effect.sync(pending.discard),
    flushing: writer.flushing
  } satisfies ExecutionLog
})
