import {
  type EventBatch,
  isThinking,
  isTold,
  type NumberedEvent,
  type RunEvent,
  type Told,
  tell,
  voidFrom,
  withoutVoid
} from "../../Schemas/RunEvent.ts"

/** The events of one execution that are not kept yet, and the numbers of all. */
export interface PendingEvents {
  /** Gives an event its number; nothing, if it was told before. */
  readonly add: (event: RunEvent) => NumberedEvent | undefined
  /** Gives an event its number that is not to be kept. */
  readonly number: (event: RunEvent) => NumberedEvent
  /** All that is to be written now, `last` at its end: they stay as they are, and are written again until kept. */
  readonly take: (last: ReadonlyArray<RunEvent>) => Taken
  readonly settle: (taken: Taken) => void
  /** Takes `last` back: it could not be written. */
  readonly refuse: (taken: Taken) => void
  readonly isEmpty: () => boolean
  readonly discard: () => void
  /**
   * Of which numbers an answer was told that is asked for again, behind `answers` finished ones; none, if it told
   * nothing.
   */
  readonly voidBehind: (answers: number) => { readonly from: number; readonly to: number } | undefined
  readonly forget: (answers: number) => void
}

export interface Taken {
  readonly batches: ReadonlyArray<EventBatch>
  readonly last: EventBatch | undefined
}

export const make = (before: Told): PendingEvents => {
  let told = before
  /** Those in the front may be on their way, and so do not change; events are added to the open one. */
  let batches: ReadonlyArray<EventBatch> = []
  let open: [NumberedEvent, ...Array<NumberedEvent>] | undefined

  const number = (event: RunEvent): NumberedEvent => {
    const numbered = { id: told.lastId + 1, event }
    told = tell(told, numbered)
    return numbered
  }
  const close = () => {
    if (open !== undefined) batches = [...batches, open]
    open = undefined
  }
  return {
    number,
    add: (event) => {
      if (isTold(told, event)) return undefined
      const numbered = number(event)
      // An answer begins its own batch, so that it can be taken back.
      if (isThinking(event)) close()
      if (open === undefined) open = [numbered]
      else open.push(numbered)
      return numbered
    },
    take: (events) => {
      close()
      const [first, ...rest] = events.map(number)
      const last: EventBatch | undefined = first === undefined ? undefined : [first, ...rest]
      if (last !== undefined) batches = [...batches, last]
      return { batches, last }
    },
    settle: (taken) => {
      batches = batches.filter((batch) => !taken.batches.includes(batch))
    },
    refuse: ({ last }) => {
      batches = batches.filter((batch) => batch !== last)
    },
    isEmpty: () => open === undefined && batches.length === 0,
    discard: () => {
      open = undefined
      batches = []
    },
    voidBehind: (answers) => {
      const from = voidFrom(told, answers)
      return from === undefined ? undefined : { from, to: told.lastId }
    },
    forget: (answers) => {
      told = withoutVoid(told, answers)
    }
  }
}
