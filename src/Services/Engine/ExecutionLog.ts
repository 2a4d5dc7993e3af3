import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import type { Unavailable } from "../../Schemas/Errors.ts"
import { OwnershipLost } from "../../Schemas/Execution.ts"
import { answersOf, type JournalStep } from "../../Schemas/Journal.ts"
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
import { addUsage, noUsage, type Usage } from "../../Schemas/Usage.ts"
import { monotonicMillis, now } from "../CurrentTime.ts"
import { RunEventRepo } from "../RunEventRepo.ts"
import { RunJournal } from "../RunJournal.ts"
import type { Execution } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import { Signals } from "../Signals.ts"
import type { EventListener } from "./LiveEvents.ts"
import { patiently } from "./Patience.ts"
import * as PendingEvents from "./PendingEvents.ts"
import { WatchedRuns } from "./WatchedRuns.ts"

const flushMillis = 250
const batchesAtOnce = 100

/**
 * What one execution writes: its steps into the journal, and its events, which are told at once to whoever listens
 * here and kept for everybody else. One write at a time; while the store is away it is tried again.
 */
export interface ExecutionLog {
  readonly execution: Execution
  /** What the run cost so far, by its finished steps. */
  readonly usage: () => Usage
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
  /** Writes what waits for longer than 250 ms; never ends. */
  readonly flushing: Effect.Effect<never>
}

export const make = Effect.gen(function* () {
  const events = yield* RunEventRepo
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
    const isWatched = watchers.isWatched(run.id)
    return yield* open({
      execution: { id: run.id, worker, epoch: run.epoch },
      told,
      events,
      journals,
      listen: listener?.offer ?? (() => Effect.void),
      isWatched,
      kept: Effect.flatMap(isWatched, (is) =>
        is ? signals.publish({ type: "events", id: run.id }) : Effect.void
      )
    })
  })
})

/** Whether nobody has executed it before, so that there is nothing to look up. */
export const isFirst = ({ attempts, epoch }: StoredRun): boolean => attempts === 1 && epoch === 1

interface Opened {
  readonly execution: Execution
  readonly told: Told
  readonly events: RunEventRepo["Service"]
  readonly journals: RunJournal["Service"]
  readonly listen: EventListener["offer"]
  readonly isWatched: Effect.Effect<boolean>
  /** Something was kept. */
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

/** One write at a time; what it did not keep is pending again. */
const makeWriter = (pending: PendingEvents.PendingEvents, { kept, listen }: Opened) =>
  Effect.map(
    Semaphore.make(1),
    (one) =>
      <E>(
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
        }).pipe(one.withPermits(1))
  )

/** `told` is what the run told before. */
export const open = Effect.fnUntraced(function* (options: Opened) {
  const { events, execution, isWatched, journals, listen } = options
  const waiting = yield* Latch.make(false)
  const pending = PendingEvents.make(options.told)
  const worked = yield* makeWorked
  let hasFlushed = false
  let firstTokenAt: Date | null = null
  let usage = noUsage
  const tryToWrite = yield* makeWriter(pending, options)

  const flush = Effect.gen(function* () {
    yield* waiting.await
    const isUrgent = !hasFlushed && (yield* isWatched)
    hasFlushed = true
    yield* Effect.sleep(isUrgent ? 0 : flushMillis)
    waiting.closeUnsafe()
    if (pending.isEmpty()) return
    yield* tryToWrite((batches) => events.append(execution, batches, firstTokenAt), []).pipe(
      Effect.onError(() => waiting.open),
      // Whoever executes this hears of it by itself.
      Effect.catchTag("OwnershipLost", () => Effect.never)
    )
  })

  const write: ExecutionLog["write"] = (save, last = []) =>
    tryToWrite((batches) => patiently(save(batches)), last)

  return {
    execution,
    usage: () => usage,
    firstTokenAt: () => firstTokenAt,
    workedMillis: worked.millis,
    resume: Effect.fnUntraced(function* (steps, workedMillis = 0) {
      worked.resume(workedMillis)
      const answers = answersOf(steps.values())
      usage = answers.usage
      const told = pending.voidBehind(answers.count)
      if (told === undefined) return
      const isOurs = yield* patiently(events.truncate(execution, told.from, told.to))
      if (!isOurs) return yield* new OwnershipLost()
      pending.forget(answers.count)
    }),
    emit: (event) => {
      const emitted = Effect.suspend(() => {
        const numbered = pending.add(event)
        if (numbered === undefined) return Effect.void
        waiting.openUnsafe()
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
      if (step.type === "model") usage = addUsage(usage, step.usage)
    }),
    write,
    tellEnd: (event) => Effect.suspend(() => listen(pending.number(event))),
    discard: Effect.sync(pending.discard),
    flushing: flush.pipe(
      Effect.catch(({ error }) => Effect.annotateLogs(Effect.logDebug("events not kept yet"), { error })),
      Effect.catchDefect((defect) => Effect.logError("events can't be kept", Cause.die(defect))),
      Effect.forever
    )
  } satisfies ExecutionLog
})
