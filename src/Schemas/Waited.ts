/** How long was waited in all, in milliseconds by a clock that only runs forward: waits at the same time count once. */
export interface Waited {
  /** Of the waits that are over. */
  readonly millis: number
  /** How many are under way. */
  readonly under: number
  /** Since when there is one under way. */
  readonly since: number
}

export const notYet: Waited = { millis: 0, under: 0, since: 0 }

export const begin = (waited: Waited, at: number): Waited => ({
  ...waited,
  under: waited.under + 1,
  since: waited.under === 0 ? at : waited.since
})

/** One wait is over that was begun. */
export const end = (waited: Waited, at: number): Waited => ({
  ...waited,
  under: waited.under - 1,
  millis: waited.under === 1 ? total(waited, at) : waited.millis
})

export const total = ({ millis, since, under }: Waited, at: number): number =>
  under === 0 ? millis : millis + at - since
