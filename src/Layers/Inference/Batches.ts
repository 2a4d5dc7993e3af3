import type { LanguageModelV4StreamPart } from "@ai-sdk/provider"
import * as Effect from "effect/Effect"
import type { InferenceEvent } from "../../Schemas/Inference.ts"
import type { Failure } from "./Failures.ts"
import { atTurnsEnd, isDue, nextTurn } from "./Turns.ts"

/** Whoever sends more than is taken waits, in UTF-16 code units and events. */
const mostUnits = 65_536
const mostEvents = 256

type Text = Extract<InferenceEvent, { type: "text" | "reasoning" }>

/** What was read of an answer and is not taken yet. */
export interface Batches {
  /** Adjacent pieces of one text become one. */
  readonly push: (events: ReadonlyArray<InferenceEvent>) => void
  /** Nothing comes behind what was pushed: it failed, or is over. */
  readonly end: (failure?: Failure) => void
  /** Resolves when there is room again; undefined where there is. */
  readonly room: () => Promise<void> | undefined
  /** All that is ready, as soon as anything is; nothing is the end. One at a time. */
  readonly take: Effect.Effect<ReadonlyArray<InferenceEvent>, Failure>
}

/**
 * Between the package of a provider, which hands over one part at a time in promises, and whoever takes them by an
 * effect for all that are ready together. What comes waits for the end of the turn of the event loop, and for
 * nothing else.
 */
export const makeBatches = (): Batches => {
  let events: Array<InferenceEvent> = []
  let units = 0
  let ended: Effect.Effect<ReadonlyArray<InferenceEvent>, Failure> | undefined
  let wake: (() => void) | undefined
  let makeRoom: Array<() => void> = []

  const join = (event: Text): boolean => {
    const last = events.at(-1)
    if (last?.type !== event.type || last.part !== event.part) return false
    if (last.metadata !== undefined || event.metadata !== undefined) return false
    events[events.length - 1] = { ...last, delta: last.delta + event.delta }
    return true
  }
  const tell = () => {
    if (wake === undefined) return
    const call = wake
    wake = undefined
    atTurnsEnd(call)
  }
  const taken = (): Effect.Effect<ReadonlyArray<InferenceEvent>, Failure> => {
    if (events.length === 0) return ended ?? Effect.succeed([])
    const batch = events
    events = []
    units = 0
    const calls = makeRoom
    makeRoom = []
    for (const call of calls) call()
    return Effect.succeed(batch)
  }

  return {
    push: (more) => {
      if (ended !== undefined) return
      for (const event of more) {
        if (event.type === "text" || event.type === "reasoning") {
          units += event.delta.length
          if (join(event)) continue
        }
        events.push(event)
      }
      if (events.length > 0) tell()
    },
    end: (failure) => {
      ended ??= failure === undefined ? Effect.succeed([]) : Effect.fail(failure)
      tell()
    },
    room: () =>
      units < mostUnits && events.length < mostEvents
        ? undefined
        : new Promise((resolve) => void makeRoom.push(resolve)),
    take: Effect.callback((resume) => {
      if (events.length > 0 || ended !== undefined) return resume(taken())
      wake = () => resume(taken())
    })
  }
}

interface ReadingAll {
  /** Pushes what it brings, or says why the answer failed. */
  readonly take: (part: LanguageModelV4StreamPart) => Failure | undefined
  readonly failed: (raw: unknown) => Failure
  readonly isOver: () => boolean
  /** What it is that no more comes, and the answer has no end. */
  readonly atEnd: () => Failure | undefined
}

/** Reads until the answer is over or its reader is cancelled, in promises alone; what it read is in the batches. */
export const readAll = async (
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  batches: Batches,
  { atEnd, failed, isOver, take }: ReadingAll
): Promise<void> => {
  try {
    while (true) {
      if (isDue()) await nextTurn()
      const { done, value } = await reader.read()
      if (isOver()) return batches.end(failed(undefined))
      if (done) return batches.end(atEnd())
      const failure = take(value)
      if (failure !== undefined) return batches.end(failure)
      if (value.type === "finish") return batches.end()
      const room = batches.room()
      if (room !== undefined) await room
    }
  } catch (raw) {
    batches.end(failed(raw))
  }
}
