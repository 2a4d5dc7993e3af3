import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { StoredRun } from "../Schemas/Run.ts"
import {
  type EventBatch,
  isThinking,
  isTold,
  type LogState,
  logged,
  type NumberedEvent,
  type RunEvent,
  voidFrom,
  withoutVoid
} from "../Schemas/RunEvent.ts"
import type { LoopEvent } from "./AgentLoop.ts"

const flushMillis = 250

/** The events of one execution: told at once to whoever listens here, and kept for everybody else. */
export interface EventLog {
  /**
   * Keeps it with the next write, or by itself after 250 ms; the first at once, if somebody reads elsewhere.
   * What was told of before is left out.
   */
  readonly emit: (event: RunEvent) => Effect.Effect<void>
  /**
   * Writes what is not kept yet together with something else, one write at a time; it counts as kept when
   * `save` answers true. `last` are told when they are kept, and not before.
   */
  readonly write: <E>(
    save: (batches: ReadonlyArray<EventBatch>) => Effect.Effect<boolean, E>,
    last?: ReadonlyArray<RunEvent>
  ) => Effect.Effect<boolean, E>
  /** Takes back what was told of an answer that is asked for again, behind `answers` finished ones. */
  readonly restart: (
    answers: number,
    truncate: (from: number, to: number) => Effect.Effect<boolean, Unavailable>
  ) => Effect.Effect<boolean, Unavailable>
  /** Tells of the end, which follows from the run and so is not kept. */
  readonly tellEnd: (event: RunEvent) => Effect.Effect<void>
  /** Forgets what is not kept yet: it can't be stored. */
  readonly discard: Effect.Effect<void>
  /** Writes what waits for longer than 250 ms; never ends. */
  readonly flushing: Effect.Effect<never>
}

/**
 * `append` writes batches alone; `listen` is told of every event, and `kept` of every write; `isRead` says
 * whether somebody reads elsewhere.
 */
export const make = Effect.fnUntraced(function* (options: {
  readonly state: LogState
  readonly append: (batches: ReadonlyArray<EventBatch>) => Effect.Effect<boolean, Unavailable>
  readonly listen: (event: NumberedEvent) => Effect.Effect<void>
  readonly kept: Effect.Effect<void>
  readonly isRead: Effect.Effect<boolean>
}) {
  const one = yield* Semaphore.make(1)
  const waiting = yield* Latch.make(false)
  let state = options.state
  /** Those in the front may be on their way, and so do not change; events are added to the last one. */
  let batches: Array<[NumberedEvent, ...Array<NumberedEvent>]> = []
  let hasFlushed = false
  let open: [NumberedEvent, ...Array<NumberedEvent>] | undefined

  const number = (event: RunEvent): NumberedEvent => {
    const numbered = { id: state.lastId + 1, event }
    state = logged(state, numbered)
    return numbered
  }
  const freeze = () => {
    if (open !== undefined) batches.push(open)
    open = undefined
  }

  const write: EventLog["write"] = (save, last = []) =>
    Effect.gen(function* () {
      freeze()
      const closing = last.map(number)
      const [first, ...rest] = closing
      if (first !== undefined) batches.push([first, ...rest])
      const written = batches.slice()
      const saved = yield* Effect.onError(save(written), () =>
        Effect.sync(() => {
          if (first !== undefined) batches.pop()
        })
      )
      if (!saved) return false
      batches = batches.filter((batch) => !written.includes(batch))
      for (const event of closing) yield* options.listen(event)
      yield* options.kept
      return true
    }).pipe(one.withPermits(1))

  const log: EventLog = {
    emit: (event) =>
      Effect.suspend(() => {
        if (isTold(state, event)) return Effect.void
        const numbered = number(event)
        // An answer begins its own batch, so that it can be taken back.
        if (isThinking(event)) freeze()
        if (open === undefined) open = [numbered]
        else open.push(numbered)
        waiting.openUnsafe()
        return options.listen(numbered)
      }),
    write,
    restart: (answers, truncate) =>
      Effect.gen(function* () {
        const from = voidFrom(state, answers)
        if (from === undefined) return true
        freeze()
        batches = batches.filter(([first]) => first.id < from)
        if (!(yield* truncate(from, state.lastId))) return false
        state = withoutVoid(state, answers)
        return true
      }).pipe(one.withPermits(1)),
    tellEnd: (event) => Effect.suspend(() => options.listen(number(event))),
    discard: Effect.sync(() => {
      open = undefined
      batches = []
    }),
    flushing: Effect.gen(function* () {
      yield* waiting.await
      const isUrgent = !hasFlushed && (yield* options.isRead)
      hasFlushed = true
      yield* Effect.sleep(isUrgent ? 0 : flushMillis)
      waiting.closeUnsafe()
      if (open === undefined && batches.length === 0) return
      const isOurs = yield* Effect.onError(write(options.append), () => waiting.open)
      // Whoever executes this hears of it by itself.
      if (!isOurs) return yield* Effect.never
    }).pipe(
      Effect.catch((error) => Effect.logDebug("events not kept yet", error.error)),
      Effect.catchDefect((defect) => Effect.logError("events can't be kept", Cause.die(defect))),
      Effect.forever
    )
  }
  return log
})

/** What is told of something that happens while an agent works. */
export const toRunEvent = ({ turn }: Pick<StoredRun, "turn">, event: LoopEvent): RunEvent | undefined => {
  switch (event.type) {
    case "thinking":
      return { event: "status", data: { status: "thinking" } }
    case "text": {
      const { delta } = event
      return turn === null
        ? { event: "status", data: { status: "responding", delta } }
        : { event: "status", data: { status: "responding", messageId: turn.replyId, delta } }
    }
    case "tool_call": {
      const { arguments: argument, id, name } = event.call
      return { event: "tool_call", data: { id, name, arguments: argument } }
    }
    case "tool_result":
      return { event: "tool_result", data: event.result }
    case "usage":
      return undefined
  }
}
